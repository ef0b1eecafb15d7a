"""TFDS builder of VisDial, without TensorFlow; `tfds_builders/build.py visdial` is the comfortable way to run it."""

import os
import pathlib
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.from_files import SHARD_BYTES, Shard, cut_shards, manual_dir, shard_iterators, write_sources
from tfds_builders.local_info import LocalBuilder
from tfds_builders.visdial import inputs as inputs_lib
from tfds_builders.visdial.schema import ANSWERS_FILE, features
from vatex_jax.data.image_features import ImageFeatures
from vatex_jax.data.visdial_folder import VERSIONS
from vatex_jax.data.visdial_rounds import OPTIONS, ROUNDS
from vatex_jax.files import write_json_whole

# Options, ground truths and relevances of a dialogue, and as much text as one has at most, or nearly.
_DIALOGUE_BYTES = 4 * (ROUNDS * OPTIONS + ROUNDS + OPTIONS) + 2048


class Builder(LocalBuilder, tfds.core.ShardBasedBuilder):
    """VisDial: dialogues about images, 100 candidate answers a round, dense annotations, image features.

    It writes shards in the files' order itself, as the builder of VaTeX does; all splits have one answer table.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar = {"1.0.0": "First version."}
    BUILDER_CONFIGS: ClassVar = [
        tfds.core.BuilderConfig(name=f"v{version}", description=f"VisDial {version}.") for version in VERSIONS
    ]
    MANUAL_DOWNLOAD_INSTRUCTIONS = inputs_lib.INSTRUCTIONS

    def __init__(
        self,
        *,
        image_features: Sequence[str | os.PathLike] = (),
        missing_features: str = "error",
        stand_in: bool = False,
        inputs: inputs_lib.Inputs | None = None,
        file_format: str = "array_record",
        **kwargs: object,
    ):
        """Makes the builder; the first four arguments matter only to `download_and_prepare`.

        Args:
          image_features: files and folders of image features; see `vatex_jax.data.image_features`.
          missing_features: `error`, or `skip` to leave out dialogues whose image has no features.
          stand_in: mark the features as stand-ins, as the file `STAND_IN_FEATURES` beside them does.
          inputs: what to build, where it has been collected already; else `manual_dir` is read.
          file_format: see TFDS.
          **kwargs: `data_dir`, `config`, `version`: see TFDS.
        """
        super().__init__(file_format=file_format, **kwargs)
        self._image_features = tuple(map(pathlib.Path, image_features))
        self._missing_features = missing_features
        self._stand_in = stand_in
        self._inputs = inputs

    def _info(self) -> tfds.core.DatasetInfo:
        return self.dataset_info_from_configs(
            features=features(), supervised_keys=None, homepage="https://visualdialog.org/data"
        )

    def _shard_iterators_per_split(self, dl_manager: tfds.download.DownloadManager) -> dict[str, list[Shard]]:
        inputs = self._inputs or inputs_lib.collect(
            manual_dir(dl_manager, inputs_lib.INSTRUCTIONS),
            version=self.builder_config.name.removeprefix("v"),
            image_features=self._image_features,
            missing_features=self._missing_features,
            stand_in=self._stand_in,
        )
        write_sources(self, inputs.sources)
        write_json_whole(pathlib.Path(self.data_dir, ANSWERS_FILE), inputs.answers, indent=None)
        return {name: _shards(name, split, inputs.images) for name, split in inputs.splits.items()}


def _shards(name: str, split: inputs_lib.Split, images: ImageFeatures | None) -> list[Shard]:
    own = _DIALOGUE_BYTES + (4 * images.size if images is not None else 0)
    shards = cut_shards([own] * len(split.rows), SHARD_BYTES)
    image_id = split.file.image_id
    return shard_iterators(
        shards, lambda i: (str(image_id[split.rows[i]]), example(split, split.rows[i], images)), name, "dialogues"
    )


def example(split: inputs_lib.Split, row: int | np.integer, images: ImageFeatures | None) -> dict[str, object]:
    """Dialogue number `row` of a split's file as `schema.features` has it."""
    file, dense = split.file, split.dense
    rounds = int(file.rounds[row])
    answers = [file.answer_table[answer] if answer >= 0 else "" for answer in file.answers[row, :rounds]]
    return {
        "image_id": int(file.image_id[row]),
        "caption": file.captions[row],
        "rounds": rounds,
        "questions": [file.question_table[question] for question in file.questions[row, :rounds]],
        "answers": answers,
        "options": split.answer_id[file.options[row]],
        "gt_index": file.gt_index[row],
        "relevance_round": int(dense.round[row]) if dense else -1,
        "relevance": dense.relevance[row] if dense else np.zeros(OPTIONS, np.float32),
        "image": images[int(file.image_id[row])] if images is not None else np.zeros(0, np.float32),
    }
