"""Noun and verb recovery accuracy of translations (VaTeX, section 4.2, Table 6).

The paper's measure is "the percentages of the correctly translated nouns/verbs in the target sentences". It says no
more, so these are our choices:

- What is counted are the nouns (or verbs) of the reference, as many times as they stand there: a multiset. `noun` and
  `verb` are the tagger's (`text.tagging`), whose signature goes with the figure; auxiliaries are no verbs.
- A noun is translated correctly where the translation holds the same word, whatever it is tagged as there: the same
  surface or the same lemma. A word of the translation answers for one word of the reference, and the words are paired
  so that as many as possible are answered for, whatever their order (a maximum matching).
- The percentage is of all references' nouns together, not a mean over sentences, as BLEU is of a corpus.
- Over all words of the reference, masked in the source or not, at every rate: the figure of the table. Beside it, where
  it is known which word of the reference a masked source word became, over these alone (`aligned_statistics`).

Every figure comes with the percentile bootstrap interval over sentences (`metrics.significance`).

Dimension legend
    n  sentences
"""

import bisect
import functools
from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int, Real

from vatex_jax.errors import DataError
from vatex_jax.text.tagging import Word


def statistics(
    references: Sequence[Sequence[Word]], translations: Sequence[Sequence[Word]], kind: str
) -> Int[np.ndarray, "n 2"]:
    """Each sentence's recovered words of a kind, and how many there are to recover.

    Args:
        references: the tagged reference of each sentence.
        translations: the tagged translations, of the same sentences.
        kind: `noun` or `verb`.

    Raises:
        DataError: there are not as many translations as references.
    """
    _check(references, translations)
    pairs = zip(references, translations, strict=True)
    return np.array([_recovered(*pair, kind) for pair in pairs], np.int64).reshape(-1, 2)


def aligned_statistics(
    wanted: Sequence[Sequence[Sequence[str]]], translations: Sequence[Sequence[str]]
) -> Int[np.ndarray, "n 2"]:
    """Each sentence's masked source words whose translation is there, and how many were masked and have one.

    Args:
        wanted: of each sentence, the tokens that each masked source word is translated by in the reference.
        translations: the tokens of each translation; a word of several tokens is there where these stand side by side,
            and a token answers for one word: as many words as possible are placed.

    Raises:
        DataError: there are not as many translations as sentences.
    """
    _check(wanted, translations)
    pairs = zip(wanted, translations, strict=True)
    rows = [(_most_placed(words, list(tokens)), len(words)) for words, tokens in pairs]
    return np.array(rows, np.int64).reshape(-1, 2)


def percent(summed: Real[np.ndarray, "... 2"]) -> Float[np.ndarray, "..."]:
    """The percentage of summed statistics; 0 where there is nothing to recover."""
    found, total = summed[..., 0], np.asarray(summed[..., 1], np.float64)
    return np.asarray(100.0 * np.divide(found, total, out=np.zeros_like(total), where=total > 0))


def _recovered(reference: Sequence[Word], translation: Sequence[Word], kind: str) -> tuple[int, int]:
    """The most words of a kind that the translation can answer for, a maximum matching, and how many there are.

    Words are joined by augmenting paths: a word takes an answer that is free, or one whose word can move to another.
    """
    wanted = [(word.text.lower(), word.lemma.lower()) for word in reference if word.kind == kind]
    held = [(word.text.lower(), word.lemma.lower()) for word in translation]
    alike = [[j for j, form in enumerate(held) if form[0] == text or form[1] == lemma] for text, lemma in wanted]
    answers: dict[int, int] = {}  # of words of the translation: the word of the reference

    def answered(word: int, tried: set[int]) -> bool:
        for j in alike[word]:
            if j not in tried:
                tried.add(j)
                if j not in answers or answered(answers[j], tried):
                    answers[j] = word
                    return True
        return False

    return sum(answered(word, set()) for word in range(len(wanted))), len(wanted)


def _most_placed(words: Sequence[Sequence[str]], tokens: Sequence[str]) -> int:
    """How many of the words can stand in `tokens` side by side, none sharing a token with another, at most."""
    starts = {
        place: [word for word in {*map(tuple, words)} if tuple(tokens[place : place + len(word)]) == word]
        for place in range(len(tokens))
    }
    places = [place for place, here in starts.items() if here]
    kinds = sorted({word for here in starts.values() for word in here})
    there = Counter(word for word in map(tuple, words) if word in kinds)
    if all(len(word) == 1 for word in kinds):
        return sum(min(count, list(tokens).count(word[0])) for word, count in there.items())

    @functools.cache
    def most(place: int, left: tuple[int, ...]) -> int:
        """From `place` on, with so many of each kind left to be placed."""
        now = bisect.bisect_left(places, place)
        if now == len(places) or not any(left):
            return 0
        start = places[now]
        best = most(start + 1, left)
        for word in starts[start]:
            i = kinds.index(word)
            if left[i]:
                fewer = (*left[:i], left[i] - 1, *left[i + 1 :])
                best = max(best, 1 + most(start + len(word), fewer))
        return best

    return most(0, tuple(there[word] for word in kinds))


def _check(one: Sequence, other: Sequence) -> None:
    if len(one) != len(other):
        raise DataError(f"recovery needs a translation of every sentence: {len(other)} of {len(one)}")
