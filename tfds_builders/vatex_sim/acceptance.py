"""What a simulated world must satisfy before any model is trained on it, measured on its captions.

    python -m tfds_builders.vatex_sim.acceptance --world_seed=0 --size=default

prints the report and exits with 1 if a requirement fails. BLEU is corpus BLEU-4 by sacrebleu, without smoothing, on the
library's English words and jieba's Chinese words.
"""

import argparse
import itertools
import sys

import sacrebleu

from tfds_builders.vatex_sim import lexicon, templates
from tfds_builders.vatex_sim.templates import Telling
from tfds_builders.vatex_sim.world import SPLITS, Video, World, translate
from vatex_jax.text.tokenization import make_tokenizer

DIRECTIONS = {"en2zh": ("en", "zh"), "zh2en": ("zh", "en")}
# Figure -> lowest and highest value that will do, for worlds of the default size.
REQUIREMENTS = {
    "en/ambiguous_nouns": (30, 100),
    "en/ambiguous_verbs": (15, 100),
    "zh/ambiguous_words": (8, 100),
    "en/both_senses_share": (1 / 3, 1.0),
    "zh/both_senses_share": (1 / 3, 1.0),
    "en/guessed_right_share": (0.46, 0.54),
    "zh/guessed_right_share": (0.44, 0.56),
    "events_determined_share": (0.99, 1.0),
    "segmented_as_written_share": (0.99, 1.0),
    "templates": (12, 100),
    "en/shortest": (6, 20),
    "en/longest": (6, 20),
    "zh/shortest": (6, 20),
    "zh/longest": (6, 20),
    "en2zh/test/oracle_bleu4": (99.0, 100.001),
    "en2zh/test/oracle_minus_no_video": (15.0, 100.0),
    "en2zh/validation/oracle_minus_no_video": (15.0, 100.0),
}


def report(world: World) -> dict[str, float]:
    """Every figure of a world: counts, shares (0-1), words, BLEU (0-100); `en/` marks those of English words."""
    pairs = [(video, telling) for split in SPLITS for video in world.videos(split) for telling in video.parallel()]
    figures: dict[str, float] = {}
    for language in ("en", "zh"):
        tokenize = make_tokenizer(language).tokenize
        sentences = [tokenize(templates.render(telling, language)) for _, telling in pairs]
        figures |= {
            f"{language}/{name}": value for name, value in _ambiguity(world, pairs, sentences, language).items()
        }
    figures |= _captions(pairs, sentences)
    for direction, split in itertools.product(DIRECTIONS, ("validation", "test")):
        oracle, no_video = _bleu(world, direction, split)
        prefix = f"{direction}/{split}"
        figures[f"{prefix}/oracle_bleu4"], figures[f"{prefix}/no_video_bleu4"] = oracle, no_video
        figures[f"{prefix}/oracle_minus_no_video"] = oracle - no_video
    return {name: round(float(value), 4) for name, value in figures.items()}


def check(figures: dict[str, float]) -> list[str]:
    """One line for each requirement that the figures of a world of the default size do not meet."""
    return [
        f"{name} is {figures[name]}, must be from {low:.4g} to {high:.4g}"
        for name, (low, high) in REQUIREMENTS.items()
        if not low <= figures[name] <= high
    ]


def _ambiguity(
    world: World, pairs: list[tuple[Video, Telling]], sentences: list[list[str]], language: str
) -> dict[str, float]:
    """How many words of a language are ambiguous, and what share of the tokens of the parallel captions they are.

    Of the ambiguous tokens: the share in videos that hold both senses, and the share whose sense the most probable
    translation without the video has right.
    """
    both, right = [], []
    seen = set()
    for video, telling in pairs:
        guess = world.most_probable_senses(telling, language)
        for index in telling.concepts():
            concept = lexicon.CONCEPTS[index]
            if concept.ambiguous_in == language:
                seen.add(index)
                both.append(video.holds_both(index))
                right.append(guess[concept.word(language)] == concept.sense)
    lengths = [len(sentence) for sentence in sentences]
    tokens = sum(lengths)
    words = {index // 2 for index in seen if index ^ 1 in seen}
    nouns = sum(lexicon.CONCEPTS[2 * word].part_of_speech == "noun" for word in words)
    ambiguous = max(len(both), 1)
    return {
        "ambiguous_words": len(words),
        "ambiguous_nouns": nouns,
        "ambiguous_verbs": len(words) - nouns,
        "ambiguous_share": len(both) / max(tokens, 1),
        "both_senses_share": sum(both) / ambiguous,
        "guessed_right_share": sum(right) / ambiguous,
        "shortest": min(lengths),
        "mean_length": tokens / len(lengths),
        "longest": max(lengths),
    }


def _captions(pairs: list[tuple[Video, Telling]], chinese: list[list[str]]) -> dict[str, float]:
    """Whether captions tell their events apart, and whether jieba cuts them into the words they were made of."""
    determined = [_possible_events(video, telling) == 1 for video, telling in pairs]
    whole = [
        set(templates.content_words(telling, "zh")) <= set(sentence)
        for (_, telling), sentence in zip(pairs, chinese, strict=True)
    ]
    return {
        "pairs": len(pairs),
        "templates": len({telling.template for _, telling in pairs}),
        "two_events_share": sum(telling.template >= len(templates.SINGLE) for _, telling in pairs) / len(pairs),
        "events_determined_share": sum(determined) / len(pairs),
        "segmented_as_written_share": sum(whole) / len(pairs),
    }


def _possible_events(video: Video, telling: Telling) -> int:
    """How many choices of events of its video the words of a caption, without their senses, may speak of."""
    choices = 1
    for number in sorted({slot[1] for slot, _ in telling.fillers}):
        facts = {slot[0]: filler for slot, filler in telling.fillers if slot[1] == number}
        matching = 0
        for event in video.events:
            told = {"V": event.verb // 2, "N": event.noun // 2, "M": event.tool // 2}
            words_fit = all(facts[kind][-1] // 2 == word for kind, word in told.items() if kind in facts)
            colour_fits = facts["A"][2] in (-1, event.colour)
            place_fits = "P" not in facts or facts["P"][0] == event.place
            matching += words_fit and colour_fits and place_fits and facts["A"][1] == event.agent
        choices *= matching
    return choices


def _bleu(world: World, direction: str, split: str) -> tuple[float, float]:
    """BLEU-4 of translations that know the senses, and of the most probable ones given the sentences alone."""
    source, target = DIRECTIONS[direction]
    tokenize = make_tokenizer(target).tokenize
    references, oracle, no_video = [], [], []
    for video in world.videos(split):
        for telling in video.parallel():
            sentence = templates.render(telling, source)
            references.append(templates.render(telling, target))
            oracle.append(translate(sentence, source, world.senses(telling, source)))
            no_video.append(world.ceiling(telling, source))
    cut = [[" ".join(tokenize(sentence)) for sentence in each] for each in (references, oracle, no_video)]
    metric = sacrebleu.BLEU(tokenize="none", smooth_method="none", force=True)
    return tuple(metric.corpus_score(each, cut[:1]).score for each in cut[1:])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure a simulated world against its requirements.")
    parser.add_argument("--world_seed", type=int, default=0)
    parser.add_argument("--size", choices=["default"], default="default")
    arguments = parser.parse_args(argv)
    figures = report(World(arguments.world_seed, arguments.size))
    for name, value in figures.items():
        low, high = REQUIREMENTS.get(name, (None, None))
        print(f"{name:42} {value:10.4g}" + ("" if low is None else f"   must be {low:.4g} to {high:.4g}"))
    failures = check(figures)
    print("\n".join(["FAILED", *failures]) if failures else "all requirements hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
