"""TFDS builder of VaTeX, without TensorFlow; `tfds_builders/build.py vatex` is the comfortable way to run it."""

from collections.abc import Sequence

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.from_files import SHARD_BYTES, Shard, cut_shards, manual_dir, shard_iterators, write_sources
from tfds_builders.local_info import LocalBuilder
from tfds_builders.vatex import inputs as inputs_lib
from vatex_jax.data.features import FEATURE_SIZE, read_features


class Builder(LocalBuilder, tfds.core.ShardBasedBuilder):
    """VaTeX: videos' features, English and Chinese captions, action labels.

    It writes shards in the files' order itself: TFDS's shuffling of generated examples needs TensorFlow as soon as a
    split is larger than 1 GB, which the training split is.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First version."}  # noqa: RUF012
    BUILDER_CONFIGS = [  # noqa: RUF012
        tfds.core.BuilderConfig(name="i3d", description="With I3D features."),
        tfds.core.BuilderConfig(name="none", description="Captions alone; every video has 0 segments."),
    ]
    MANUAL_DOWNLOAD_INSTRUCTIONS = inputs_lib.INSTRUCTIONS

    def __init__(
        self,
        *,
        missing_features: str = "error",
        stand_in: bool = False,
        inputs: inputs_lib.Inputs | None = None,
        file_format: str = "array_record",
        **kwargs: object,
    ):
        """Makes the builder; the first three arguments matter only to `download_and_prepare`.

        Args:
          missing_features: `error`, or `skip` to leave out videos without features.
          stand_in: mark the features as stand-ins, as the file `STAND_IN_FEATURES` in the folder does.
          inputs: what to build, where it has been collected already; else `manual_dir` is read.
          file_format: see TFDS.
          **kwargs: `data_dir`, `config`, `version`: see TFDS.
        """
        super().__init__(file_format=file_format, **kwargs)
        self._missing_features = missing_features
        self._stand_in = stand_in
        self._inputs = inputs

    def _info(self) -> tfds.core.DatasetInfo:
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "video_id": tfds.features.Text(),
                    # As bytes: a list of floats takes TFDS some 80 times as long to write, the data alike.
                    "features": tfds.features.Tensor(
                        shape=(None, FEATURE_SIZE), dtype=np.float32, encoding=tfds.features.Encoding.BYTES
                    ),
                    "label": tfds.features.Scalar(dtype=np.int32),
                    "en": tfds.features.Sequence(tfds.features.Text()),
                    "zh": tfds.features.Sequence(tfds.features.Text()),
                    "pairs": tfds.features.Scalar(dtype=np.int32),
                }
            ),
            supervised_keys=None,
            homepage="https://eric-xw.github.io/vatex-website/",
        )

    def _shard_iterators_per_split(self, dl_manager: tfds.download.DownloadManager) -> dict[str, list[Shard]]:
        inputs = self._inputs or inputs_lib.collect(
            manual_dir(dl_manager, inputs_lib.INSTRUCTIONS),
            with_features=self.builder_config.name != "none",
            missing_features=self._missing_features,
            stand_in=self._stand_in,
        )
        write_sources(self, inputs.sources)
        return {split: _shards(split, videos) for split, videos in inputs.splits.items()}


def _shards(split: str, videos: Sequence[inputs_lib.Video]) -> list[Shard]:
    shards = cut_shards([_size(video) for video in videos], SHARD_BYTES)
    return shard_iterators(shards, lambda i: (videos[i].captions.video_id, _example(videos[i])), split, "videos")


def _size(video: inputs_lib.Video) -> int:
    """Bytes of a video's features and captions, or somewhat more."""
    return 4 * FEATURE_SIZE * video.segments + 4 * sum(map(len, video.captions.en + video.captions.zh))


def _example(video: inputs_lib.Video) -> dict[str, object]:
    none = np.zeros((0, FEATURE_SIZE), np.float32)
    return {
        "video_id": video.captions.video_id,
        "features": none if video.features is None else read_features(video.features),
        "label": video.label,
        "en": list(video.captions.en),
        "zh": list(video.captions.zh),
        "pairs": video.captions.pairs,
    }
