"""TFDS builder of `vatex_sim`: the simulated world in the schema of VaTeX, made here in seconds, without TensorFlow."""

import dataclasses
import functools
import json
import sys
from typing import ClassVar

import numpy as np
import tensorflow_datasets as tfds
from tqdm import tqdm

from tfds_builders.local_info import LocalBuilder
from tfds_builders.vatex_sim import acceptance, lexicon, templates
from tfds_builders.vatex_sim.world import CAPTIONS, DIMENSIONS, PAIRS, SIZES, SPLITS, World
from vatex_jax.errors import ConfigError
from vatex_jax.text.tokenization import make_tokenizer


@dataclasses.dataclass(kw_only=True)
class VatexSimConfig(tfds.core.BuilderConfig):
    """A world: its size (a key of `SIZES`) and its seed."""

    size: str = "default"
    world_seed: int = 0


def make_config(size: str = "default", world_seed: int = 0) -> VatexSimConfig:
    """The configuration of a world, named by its size alone for seed 0 and `default-w7` for seed 7.

    Raises:
        ConfigError: no such size, or a negative seed.
    """
    if size not in SIZES:
        raise ConfigError(f"vatex_sim has the sizes {', '.join(SIZES)}, not {size!r}.")
    if world_seed < 0:
        raise ConfigError(f"The world seed is {world_seed}; it must be 0 or more.")
    return _config(size, world_seed)


@functools.cache  # TFDS wants the very object of BUILDER_CONFIGS where the name is one of theirs
def _config(size: str, world_seed: int) -> VatexSimConfig:
    return VatexSimConfig(
        name=f"{size}-w{world_seed}" if world_seed else size,
        description=f"Simulated world {world_seed}, {', '.join(f'{SIZES[size][split]} {split}' for split in SPLITS)}.",
        size=size,
        world_seed=world_seed,
    )


class Builder(LocalBuilder, tfds.core.GeneratorBasedBuilder):
    """Simulated videos with captions in two languages; beside the records lie `world.json` and `test_pairs.json`."""

    VERSION = tfds.core.Version("1.1.0")
    RELEASE_NOTES: ClassVar = {
        "1.0.0": "First world.",
        "1.1.0": "What is done, and with what, weighs as much in the features as who does it; captions as before.",
    }
    BUILDER_CONFIGS: ClassVar = [make_config("default"), make_config("tiny")]

    @staticmethod
    def aligned_words(en: str, zh: str) -> list[tuple[str, str]]:
        """The content words of a parallel pair, each with its translation (`templates.aligned_words`)."""
        return templates.aligned_words(en, zh)

    def _info(self) -> tfds.core.DatasetInfo:
        return self.dataset_info_from_configs(
            description="A small simulated world with the schema of VaTeX and known answers; no claim on real data.",
            features=tfds.features.FeaturesDict(
                {
                    "video_id": tfds.features.Text(),
                    # As bytes: a list of floats takes TFDS some 80 times as long to write, the data alike.
                    "features": tfds.features.Tensor(
                        shape=(None, DIMENSIONS), dtype=np.float32, encoding=tfds.features.Encoding.BYTES
                    ),
                    "label": np.int32,
                    "en": tfds.features.Sequence(tfds.features.Text()),
                    "zh": tfds.features.Sequence(tfds.features.Text()),
                    "pairs": np.int32,
                }
            ),
        )

    def _split_generators(self, dl_manager):
        world = World(self.builder_config.world_seed, self.builder_config.size)
        # TFDS points data_path at its unfinished folder here, and renames the folder once everything is in it.
        for name, content in (("world.json", describe_world(world)), ("test_pairs.json", pair_facts(world))):
            text = json.dumps(content, ensure_ascii=False, indent=1)
            (self.data_path / name).write_text(text + "\n", encoding="utf-8")
        return {split: self._generate_examples(world, split) for split in SPLITS}

    def _generate_examples(self, world: World, split: str):
        videos = tqdm(world.videos(split), split, unit="video", leave=False, disable=not sys.stderr.isatty())
        for index, video in enumerate(videos):
            yield (
                video.video_id,
                {
                    "video_id": video.video_id,
                    "features": world.features(split, index),
                    "label": -1,
                    "en": [templates.render(telling, "en") for telling in video.en],
                    "zh": [templates.render(telling, "zh") for telling in video.zh],
                    "pairs": PAIRS,
                },
            )


def describe_world(world: World) -> dict:
    """The content of `world.json`: the acceptance figures and the lexicon with its senses."""
    concepts = [
        dataclasses.asdict(concept) | {"likelier": bool(world.likelier[index // 2] == concept.sense)}
        for index, concept in enumerate(lexicon.CONCEPTS)
    ]
    return {
        "world_seed": world.world_seed,
        "size": world.size,
        "captions": CAPTIONS,
        "pairs": PAIRS,
        "acceptance": acceptance.report(world),
        "concepts": concepts,
        "agents": lexicon.AGENTS,
        "colours": lexicon.COLOURS,
        "places": lexicon.PLACES,
        "templates": templates.TEMPLATES,
    }


def pair_facts(world: World) -> list[dict]:
    """The content of `test_pairs.json`: what only the video tells, by parallel test pair.

    `zh_ceiling` and `en_ceiling` are the most probable translations of `en` and `zh` given the sentence alone. Words
    of `ambiguous` (English words of two meanings) and of `ambiguous_zh` come with their places among the tokens.
    """
    tokenize = {language: make_tokenizer(language).tokenize for language in ("en", "zh")}
    found = []
    for video in world.videos("test"):
        for pair, telling in enumerate(video.parallel()):
            sentences = {language: templates.render(telling, language) for language in ("en", "zh")}
            tokens = {language: tokenize[language](sentence) for language, sentence in sentences.items()}
            words: dict[str, list[dict]] = {"en": [], "zh": []}
            for index in telling.concepts():
                concept, other = lexicon.CONCEPTS[index], lexicon.CONCEPTS[index ^ 1]
                target = "zh" if concept.ambiguous_in == "en" else "en"
                words[concept.ambiguous_in].append(
                    {
                        "en": concept.en,
                        "zh": concept.zh,
                        f"other_{target}": other.word(target),
                        "en_index": tokens["en"].index(concept.en),
                        "zh_index": tokens["zh"].index(concept.zh),
                        "both_senses_in_video": video.holds_both(index),
                    }
                )
            found.append(
                {"video_id": video.video_id, "pair": pair}
                | sentences
                | {"zh_ceiling": world.ceiling(telling, "en"), "en_ceiling": world.ceiling(telling, "zh")}
                | {"ambiguous": words["en"], "ambiguous_zh": words["zh"]}
            )
    return found
