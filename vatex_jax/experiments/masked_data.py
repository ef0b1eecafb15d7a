"""What masked translation reads: translation's data with nouns or verbs of the source hidden, and what they became."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import ml_collections

from vatex_jax.data.examples import ParallelText
from vatex_jax.experiments.trained import Report
from vatex_jax.experiments.translation_data import TranslationData, load_translation_data
from vatex_jax.text.alignment import DiceAligner, precision
from vatex_jax.text.masking import Masking, mask
from vatex_jax.text.tagging import Tagger, Word, open_tagger
from vatex_jax.text.tokenization import make_tokenizer


@dataclasses.dataclass(frozen=True)
class MaskedTranslationData(TranslationData):
    """Translation's data, `text` and `examples` of which have masked sources (`captions` are whole).

    Attributes:
        words: by split, the tagged words of each source caption, token by token.
        masks: by split, the places of the masked ones.
        taggers: by language.
    """

    words: Mapping[str, list[list[Word]]]
    masks: Mapping[str, list[list[int]]]
    taggers: Mapping[str, Tagger]

    def masked_share(self, split: str, kind: str) -> float:
        """Percent of a split's words of a kind that are masked; 0 where it has none."""
        words = sum(word.kind == kind for caption in self.words[split] for word in caption)
        return 100.0 * sum(map(len, self.masks[split])) / max(1, words)


class _Masker:
    """Masks the sources of splits, and remembers how."""

    def __init__(self, masking: Masking, tagger: Tagger):
        self.masking, self.tagger = masking, tagger
        self.words: dict[str, list[list[Word]]] = {}
        self.masks: dict[str, list[list[int]]] = {}

    def __call__(self, split: str, text: ParallelText) -> ParallelText:
        cased = make_tokenizer("en").cased
        self.words[split] = list(self.tagger.tag([cased(source) for source, _ in text.captions]))
        self.masks[split] = [self.masking.positions(words) for words in self.words[split]]
        sources = zip(text.source, self.masks[split], strict=True)
        return dataclasses.replace(text, source=tuple(mask(tokens, places) for tokens, places in sources))


def masking_of(config: ml_collections.ConfigDict) -> Masking:
    """The masking that a configuration describes.

    Raises:
        ConfigError: it cannot be used.
    """
    return Masking(config.mask.kind, config.mask.rate, config.seed)


def load_masked_data(
    config: ml_collections.ConfigDict, workdir: Path, report: Report, *, references: bool = True
) -> MaskedTranslationData:
    """Reads what `config` names and masks every split's sources; see `load_translation_data` for the rest."""
    pipelines = {"en": config.mask.english_pipeline, "zh": config.mask.chinese_pipeline}
    taggers = {
        language: open_tagger(language, pipeline, note=f"tagging {language}")
        for language, pipeline in pipelines.items()
    }
    masker = _Masker(masking_of(config), taggers["en"])
    plain = load_translation_data(config, workdir, report, references=references, changed=masker)
    fields = {field.name: getattr(plain, field.name) for field in dataclasses.fields(TranslationData)}
    data = MaskedTranslationData(**fields, words=masker.words, masks=masker.masks, taggers=taggers)
    shares = ", ".join(f"{name} {data.masked_share(name, config.mask.kind):.1f}%" for name in data.text)
    report(f"masked {config.mask.kind}s: {shares} ({taggers['en'].signature})")
    return data


@dataclasses.dataclass(frozen=True)
class Alignment:
    """What the test split's masked words became in the references.

    Attributes:
        wanted: of each sentence, the target tokens of each masked word that has some.
        by: who says so: the simulated world, or the aligner that learned from the training pairs.
        aligned: percent of the masked words that have some.
        mutual: percent of the aligner's alignments of which neither word has a likelier partner: what can be said of
            its quality without a world.
        precision, coverage: percent of its alignments that are the world's, and of the words the world aligns that it
            does; None where no world knows.
    """

    wanted: list[list[list[str]]]
    by: str
    aligned: float
    mutual: float
    precision: float | None = None
    coverage: float | None = None


def align_masks(data: MaskedTranslationData, split: str = "test") -> Alignment:
    """By the world where the data are one's, else by an aligner learned from the training pairs."""
    found, mutual = _learned(data, split)
    text, masks = data.text[split], data.masks[split]
    aligned_words = getattr(data.source.builder, "aligned_words", None)
    if aligned_words is None:
        return _alignment([[None if word is None else [word] for word in words] for words in found], "dice", mutual)
    tokenize = data.tokenizers["zh"].tokenize
    answers = []
    for tokens, places, (en, zh) in zip(data.words[split], masks, text.captions, strict=True):
        by_place = _at_places([word.text.lower() for word in tokens], aligned_words(en, zh))
        answers.append([by_place.get(place) for place in places])
    right = [[None if word is None else tokenize(word) for word in words] for words in answers]
    # The aligner, which names tokens, is held against the world where this names one too.
    told = [[word[0] if word and len(word) == 1 else None for word in words] for words in right]
    exact, covered = precision(found, told)
    return dataclasses.replace(_alignment(right, "world", mutual), precision=exact, coverage=covered)


def _learned(data: MaskedTranslationData, split: str) -> tuple[list[list[str | None]], float]:
    """The reference's token for each masked word, by Dice's coefficient over the training pairs as they are.

    Returns:
        The tokens, and the percentage of alignments that are mutual.
    """
    tokenize = data.tokenizers["en"].tokenize
    training = data.text["train"]
    sources = (tokenize(source) for source, _ in training.captions)
    aligner = DiceAligner.learn(zip(sources, training.target, strict=True))
    found, mutual = [], []
    for words, places, target in zip(data.words[split], data.masks[split], data.text[split].target, strict=True):
        source = [word.text.lower() for word in words]
        became = aligner.align(source, target, places)
        found.append([None if place is None else target[place] for place in became])
        made = [(at, place) for at, place in zip(places, became, strict=True) if place is not None]
        mutual += [aligner.is_mutual(source, target, at, place) for at, place in made]
    return found, 100.0 * sum(mutual) / max(1, len(mutual))


def _at_places(tokens: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[int, str]:
    """The translation of each token that the pairs, in the order of the sentence, name."""
    found, start = {}, 0
    for source, target in pairs:
        if source.lower() in tokens[start:]:
            start = tokens.index(source.lower(), start)
            found[start] = target
            start += 1
    return found


def _alignment(words: list[list[list[str] | None]], by: str, mutual: float) -> Alignment:
    wanted = [[word for word in sentence if word] for sentence in words]
    masked = sum(map(len, words))
    return Alignment(wanted, by, 100.0 * sum(map(len, wanted)) / max(1, masked), mutual)
