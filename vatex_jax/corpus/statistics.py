"""What a caption corpus is like: the figures of VaTeX's Tables 1 to 3 and of its Figures 3 and 4.

Captions are read once, in order. What is kept grows with distinct words, n-grams and captions, not with how many
captions there are. The paper leaves open what exactly it counts, so these are our choices, in each figure's signature:

- Words are the tokens of our tokenizers that hold a letter or a digit: punctuation counts nowhere. English is
  lower-cased.
- Two captions are equal where they are the same text but for capitals, white space and Unicode's ways of writing it.
  Intra-video duplicates: the share of videos with two equal captions. Inter-video duplicates: the share of captions
  that stand at another video too.
- Distinct verbs, nouns, adjectives and adverbs are distinct words (forms, not lemmas) tagged so at least once.

Dimension legend
    points  places along a type-caption curve
"""

import dataclasses
import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from vatex_jax.corpus.ngrams import ORDERS, DistinctNgrams
from vatex_jax.corpus.readers import CorpusVideo
from vatex_jax.text.tagging import KINDS, Tagger, Word
from vatex_jax.text.tokenization import Tokenizer, lower

PER_CAPTION = ("noun", "verb")
"""Kinds of which the distinct words of each caption are counted (Figure 3)."""

_FIRST_POINT, _GROWTH = 200, 0.05  # captions up to the first point of a curve; of all so far, up to the next
_WAITING = 5000  # captions that are counted at once, at most


@dataclasses.dataclass
class CorpusStatistics:
    """The figures of a corpus in one language.

    Attributes:
        videos, captions: how many; videos with at least one caption.
        words: in all captions.
        lengths: captions by their number of words.
        per_caption: by kind, captions by their number of distinct words of it; empty without tags.
        distinct: n-grams by n.
        kinds: distinct words by kind; empty without tags.
        repeating_videos: videos with two equal captions.
        shared_captions: captions that stand at another video too.
        curve: (captions, distinct 4-grams) along the corpus.
    """

    videos: int = 0
    captions: int = 0
    words: int = 0
    lengths: Counter[int] = dataclasses.field(default_factory=Counter)
    per_caption: dict[str, Counter[int]] = dataclasses.field(default_factory=dict)
    distinct: dict[int, int] = dataclasses.field(default_factory=dict)
    kinds: dict[str, int] = dataclasses.field(default_factory=dict)
    repeating_videos: int = 0
    shared_captions: int = 0
    curve: list[tuple[int, int]] = dataclasses.field(default_factory=list)

    def metrics(self) -> dict[str, float]:
        """By the names that results and published.json use; percentages of what there is."""
        found = {
            "videos": float(self.videos),
            "captions": float(self.captions),
            "captions_per_video": self.captions / max(1, self.videos),
            "length": self.words / max(1, self.captions),
            "intra_video_duplicates": 100.0 * self.repeating_videos / max(1, self.videos),
            "inter_video_duplicates": 100.0 * self.shared_captions / max(1, self.captions),
        }
        found |= {f"unique_{n}gram": float(count) for n, count in self.distinct.items()}
        found |= {f"unique_{kind}": float(count) for kind, count in self.kinds.items()}
        for kind, counts in self.per_caption.items():
            found[f"{kind}s_per_caption"] = sum(n * times for n, times in counts.items()) / max(1, self.captions)
        return found


class CorpusCounter:
    """Counts one language of a corpus, video by video: `add` each, then `finish`."""

    def __init__(self, language: str, tokenizer: Tokenizer, open_tagger: Callable[[], Tagger] | None = None):
        """Begins with nothing.

        Args:
            language: `en` or `zh`.
            tokenizer: of it.
            open_tagger: gives the tagger, asked for once there is a caption; None for no figures of kinds of words.
        """
        self._language, self._tokenizer, self._open_tagger = language, tokenizer, open_tagger
        self.tagger: Tagger | None = None
        self._found = CorpusStatistics()
        self._ngrams, self._texts = DistinctNgrams(), _Texts()
        self._kinds: dict[str, set[str]] = {kind: set() for kind in KINDS} if open_tagger else {}
        self._found.per_caption = {kind: Counter() for kind in PER_CAPTION} if open_tagger else {}
        self._waiting: list[list[str]] = []
        self._point = _FIRST_POINT

    @property
    def signature(self) -> str:
        """How words were cut and counted."""
        return f"{self._tokenizer.signature}-nopunct"

    def add(self, video: CorpusVideo) -> None:
        """Counts a video's captions."""
        captions = video.captions(self._language)
        if not captions:
            return
        found = self._found
        found.videos += 1
        found.captions += len(captions)
        found.repeating_videos += self._texts.add(captions, found.videos)
        for caption in captions:
            tokens = self._tokenizer.cased(caption)
            spoken = [token for token in tokens if is_word(token)]
            found.words += len(spoken)
            found.lengths[len(spoken)] += 1
            self._waiting.append(tokens)
        point = found.captions >= self._point
        if point or len(self._waiting) >= _WAITING:
            self._count()
        if point:
            found.curve.append((found.captions, self._ngrams.count(4)))
            self._point = found.captions + max(_FIRST_POINT, int(_GROWTH * found.captions))

    def finish(self) -> CorpusStatistics:
        """The figures of all that was added."""
        self._count()
        found = self._found
        if found.captions and (not found.curve or found.curve[-1][0] < found.captions):
            found.curve.append((found.captions, self._ngrams.count(4)))
        found.shared_captions = self._texts.shared()
        found.distinct = {n: self._ngrams.count(n) for n in ORDERS}
        found.kinds = {kind: len(words) for kind, words in self._kinds.items()}
        return found

    def _count(self) -> None:
        """Counts the captions that wait."""
        if not self._waiting:
            return
        self._ngrams.add([[lower(token) for token in tokens if is_word(token)] for tokens in self._waiting])
        if self._open_tagger is not None:
            self.tagger = self.tagger or self._open_tagger()
            for words in self.tagger.tag(self._waiting):
                self._count_kinds(words)
        self._waiting = []

    def _count_kinds(self, words: Iterable[Word]) -> None:
        own: dict[str, set[str]] = {}
        for word in words:
            if word.kind and is_word(word.text):
                own.setdefault(word.kind, set()).add(lower(word.text))
        for kind, forms in own.items():
            self._kinds[kind] |= forms
        for kind, counts in self._found.per_caption.items():
            counts[len(own.get(kind, ()))] += 1


class _Texts:
    """Which captions were met before, and where: a few numbers for each distinct one."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._more: dict[int, int] = {}
        self._several: set[int] = set()

    def add(self, captions: Sequence[str], video: int) -> bool:
        """Notes a video's captions; whether two of them are equal."""
        keys = [text_key(caption) for caption in captions]
        for key in keys:
            first = self._first.setdefault(key, video)
            self._more[key] = self._more.get(key, 0) + 1
            if first != video:
                self._several.add(key)
        return len(set(keys)) < len(keys)

    def shared(self) -> int:
        """Captions whose text stands at several videos."""
        return sum(self._more[key] for key in self._several)


def text_key(caption: str) -> int:
    """64 bits of a caption, equal for texts that are equal but for capitals, white space and Unicode's forms."""
    plain = " ".join(unicodedata.normalize("NFC", caption).casefold().split())
    return int.from_bytes(hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def is_word(token: str) -> bool:
    """Whether a token holds a letter or a digit."""
    return any(character.isalnum() for character in token)
