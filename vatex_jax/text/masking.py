"""Masked captions: some of the nouns, or of the verbs, of a caption become the one token `[M]` (VaTeX, section 4.2).

Of a caption's n nouns, floor(rate n + u) are masked, u uniform in [0, 1): on the whole a share of `rate`, whatever the
captions' lengths. Of 10,000 captions with four nouns each the share is off by 0.2 points at most; with 1.4 verbs each,
where chance decides more, its standard deviation is 0.35 points at a rate of a half. u and the order in which nouns are
taken come from the seed and the caption alone, so the masks at one rate hold those at every lower one, and a caption is
masked alike wherever it stands.
"""

import dataclasses
import hashlib
import math
from collections.abc import Sequence

import numpy as np

from vatex_jax.errors import ConfigError
from vatex_jax.text.tagging import Word
from vatex_jax.text.tokenization import MASK_TOKEN

MASKED_KINDS = ("noun", "verb")


@dataclasses.dataclass(frozen=True)
class Masking:
    """What is masked.

    Attributes:
        kind: `noun` or `verb`.
        rate: the share of them, from 0 to 1.
        seed: of the choice.

    Raises:
        ConfigError: another kind, or a rate outside of [0, 1].
    """

    kind: str
    rate: float
    seed: int = 0

    def __post_init__(self) -> None:
        if self.kind not in MASKED_KINDS:
            raise ConfigError(f"config.mask.kind is {self.kind!r}: it must be {' or '.join(MASKED_KINDS)}.")
        if not 0 <= self.rate <= 1:  # a NaN is neither
            raise ConfigError(f"config.mask.rate is {self.rate}: it is a share, from 0 to 1.")

    def positions(self, words: Sequence[Word]) -> list[int]:
        """The places of a caption's masked words, in order."""
        places = [place for place, word in enumerate(words) if word.kind == self.kind]
        caption = "\x00".join([str(self.seed), *(word.text for word in words)])
        digest = hashlib.sha256(caption.encode("utf-8", "surrogatepass")).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:16], "big"))
        u, order = rng.random(), rng.permutation(len(places))
        return sorted(places[i] for i in order[: math.floor(self.rate * len(places) + u)])


def mask(tokens: Sequence[str], positions: Sequence[int]) -> list[str]:
    """The tokens, `[M]` in the place of those at `positions`."""
    hidden = set(positions)
    return [MASK_TOKEN if place in hidden else token for place, token in enumerate(tokens)]
