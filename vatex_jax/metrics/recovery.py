"""Noun and verb recovery accuracy of translations (VaTeX, section 4.2, Table 6).

The paper's measure is "the percentages of the correctly translated nouns/verbs in the target sentences". It says no
more, so these are our choices:

- What is counted are the nouns (or verbs) of the reference, as many times as they stand there: a multiset. `noun` and
  `verb` are the tagger's (`text.tagging`), whose signature goes with the figure; auxiliaries are no verbs.
- A noun is translated correctly where the translation holds the same word, whatever it is tagged as there: by surface
  or else, of what is left, by lemma. A word of the translation answers for one word of the reference.
- The percentage is of all references' nouns together, not a mean over sentences, as BLEU is of a corpus.
- Over all words of the reference, masked in the source or not, at every rate: the figure of the table. Beside it, where
  it is known which word of the reference a masked source word became, over these alone (`aligned_statistics`).

Every figure comes with the percentile bootstrap interval over sentences (`metrics.significance`).

Dimension legend
    n  sentences
"""

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
        translations: the tokens of each translation; a word of several tokens is there where these stand side by side.

    Raises:
        DataError: there are not as many translations as sentences.
    """
    _check(wanted, translations)
    rows = []
    for words, tokens in zip(wanted, translations, strict=True):
        left: list[str | None] = list(tokens)
        # Longer words first: a token answers for one.
        rows.append((sum(_taken(word, left) for word in sorted(words, key=len, reverse=True)), len(words)))
    return np.array(rows, np.int64).reshape(-1, 2)


def percent(summed: Real[np.ndarray, "... 2"]) -> Float[np.ndarray, "..."]:
    """The percentage of summed statistics; 0 where there is nothing to recover."""
    found, total = summed[..., 0], np.asarray(summed[..., 1], np.float64)
    return np.asarray(100.0 * np.divide(found, total, out=np.zeros_like(total), where=total > 0))


def _recovered(reference: Sequence[Word], translation: Sequence[Word], kind: str) -> tuple[int, int]:
    wanted = [word for word in reference if word.kind == kind]
    held = Counter((word.text.lower(), word.lemma.lower()) for word in translation)
    left, found = [], 0
    for word in wanted:  # all surfaces first: a lemma must not take the word that another noun is to the letter
        same = next((form for form in held if form[0] == word.text.lower() and held[form] > 0), None)
        if same is None:
            left.append(word)
        else:
            held[same] -= 1
            found += 1
    for word in left:
        same = next((form for form in held if form[1] == word.lemma.lower() and held[form] > 0), None)
        if same is not None:
            held[same] -= 1
            found += 1
    return found, len(wanted)


def _taken(word: Sequence[str], left: list[str | None]) -> bool:
    """Whether a word's tokens stand side by side among those that are left; they are taken from there."""
    for place in range(len(left) - len(word) + 1):
        if left[place : place + len(word)] == list(word):
            left[place : place + len(word)] = [None] * len(word)
            return True
    return False


def _check(one: Sequence, other: Sequence) -> None:
    if len(one) != len(other):
        raise DataError(f"recovery needs a translation of every sentence: {len(other)} of {len(one)}")
