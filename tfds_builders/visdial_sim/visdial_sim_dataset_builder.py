"""TFDS builder of `visdial_sim`: a simulated world in the schema of VisDial, made in seconds, without TensorFlow."""

import dataclasses
import functools
import json
from typing import ClassVar

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.local_info import LocalBuilder
from tfds_builders.visdial import schema
from tfds_builders.visdial_sim import acceptance, lexicon
from tfds_builders.visdial_sim.candidates import OPTIONS
from tfds_builders.visdial_sim.topics import TYPES, Tables
from tfds_builders.visdial_sim.world import ROUNDS, SIZES, SPLITS, World
from vatex_jax.errors import ConfigError


@dataclasses.dataclass(kw_only=True)
class VisdialSimConfig(tfds.core.BuilderConfig):
    """A world: its size (a key of `SIZES`) and its seed."""

    size: str = "default"
    world_seed: int = 0


def make_config(size: str = "default", world_seed: int = 0) -> VisdialSimConfig:
    """The configuration of a world, named by its size alone for seed 0 and `default-w7` for seed 7.

    Raises:
        ConfigError: no such size, or a negative seed.
    """
    if size not in SIZES:
        raise ConfigError(f"visdial_sim has the sizes {', '.join(SIZES)}, not {size!r}.")
    if world_seed < 0:
        raise ConfigError(f"The world seed is {world_seed}; it must be 0 or more.")
    return _config(size, world_seed)


@functools.cache  # TFDS wants the very object of BUILDER_CONFIGS where the name is one of theirs
def _config(size: str, world_seed: int) -> VisdialSimConfig:
    return VisdialSimConfig(
        name=f"{size}-w{world_seed}" if world_seed else size,
        description=f"Simulated world {world_seed}, {', '.join(f'{SIZES[size][split]} {split}' for split in SPLITS)}.",
        size=size,
        world_seed=world_seed,
    )


class Builder(LocalBuilder, tfds.core.GeneratorBasedBuilder):
    """Simulated dialogues about images; beside the records lie `answers.json`, `world.json` and `facts.json`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar = {"1.0.0": "First world."}
    BUILDER_CONFIGS: ClassVar = [make_config("default"), make_config("tiny")]

    def _info(self) -> tfds.core.DatasetInfo:
        return self.dataset_info_from_configs(
            description="A small simulated world with the schema of VisDial and known answers; no claim on real data.",
            features=schema.features(),
        )

    def _split_generators(self, dl_manager):
        world = World(self.builder_config.world_seed, self.builder_config.size)
        # TFDS points data_path at its unfinished folder here, and renames the folder once everything is in it.
        for name, content, indent in (
            ("answers.json", world.answers, 0),
            ("world.json", describe_world(world), 1),
            ("facts.json", facts(world), None),
        ):
            text = json.dumps(content, ensure_ascii=False, indent=indent)
            (self.data_path / name).write_text(text + "\n", encoding="utf-8")
        return {split: self._generate_examples(world, split) for split in SPLITS}

    def _generate_examples(self, world: World, split: str):
        found, features = world.dialogues(split), world.features(split)
        options, gt_index = world.options(split)
        annotations = world.annotations(split)
        relevance_round = np.full(len(found.topics), -1)
        relevance = np.zeros((len(found.topics), OPTIONS), np.float32)
        relevance_round[annotations.dialogues] = annotations.rounds
        relevance[annotations.dialogues] = annotations.relevance
        for index, image_id in enumerate(world.image_ids(split).tolist()):
            yield (
                image_id,
                {
                    "image_id": image_id,
                    "caption": found.captions[index],
                    "rounds": ROUNDS,
                    "questions": [world.question(split, index, turn) for turn in range(ROUNDS)],
                    "answers": [world.answers[answer] for answer in found.answers[index]],
                    "options": options[index].astype(np.int32),
                    "gt_index": gt_index[index].astype(np.int32),
                    "relevance_round": int(relevance_round[index]),
                    "relevance": relevance[index],
                    "image": features[index],
                },
            )


def describe_world(world: World) -> dict:
    """The content of `world.json`: the acceptance figures, the lexicon, the templates."""
    return {
        "world_seed": world.world_seed,
        "size": world.size,
        "acceptance": acceptance.report(world),
        "attributes": [dataclasses.asdict(attribute) for attribute in lexicon.ATTRIBUTES],
        "near": lexicon.NEAR,
        "types": [dataclasses.asdict(asked) for asked in TYPES],
        "topics": [dataclasses.asdict(topic) for topic in world.tables.topics],
    }


def facts(world: World) -> dict:
    """The content of `facts.json`: what only the makers of the data know.

    `answer_classes` has for each id of the answer table the classes (`topic/content`) it is a paraphrase of.
    `validation` and `test` have for each dialogue the class of each round's answer, with its type, subject (empty for
    the image as a whole) and content, and whether the question has a pronoun; `seen` is what the annotators see in
    the annotated round.
    """
    names = np.array(world.tables.class_names)
    return {
        "answer_classes": [names[column].tolist() for column in world.members.T],
        **{split: _facts_of_split(world, split) for split in SPLITS[1:]},
    }


def _facts_of_split(world: World, split: str) -> list[dict]:
    found, annotations = world.dialogues(split), world.annotations(split)
    rows = []
    for index, image_id in enumerate(world.image_ids(split).tolist()):  # all of these splits are annotated
        rounds = [
            _fact(world.tables, content) | {"pronoun": bool(pronoun)}
            for content, pronoun in zip(found.contents[index].tolist(), found.pronouns[index], strict=True)
        ]
        seen = _fact(world.tables, int(annotations.seen[index]))
        turn = int(annotations.rounds[index])
        rows.append({"image_id": image_id, "rounds": rounds, "relevance_round": turn, "seen": seen})
    return rows


def _fact(tables: Tables, content: int) -> dict[str, str]:
    topic = tables.topics[tables.class_topic[content]]
    name = tables.class_names[content]
    return {"class": name, "type": topic.type, "subject": topic.subject, "content": name.rpartition("/")[2]}
