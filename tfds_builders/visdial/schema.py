"""The features of an example of `visdial` and `visdial_sim`, one a dialogue."""

import numpy as np
import tensorflow_datasets as tfds

from vatex_jax.data.visdial_rounds import OPTIONS, ROUNDS

ANSWERS_FILE = "answers.json"
"""Beside the records: a JSON list of distinct strings, the answers that `options` are places in, for all splits."""


def features() -> tfds.features.FeaturesDict:
    """What an example holds; -1 stands for what is hidden or absent."""
    # As bytes: a list of numbers takes TFDS some 80 times as long to write, the data alike.
    as_bytes = tfds.features.Encoding.BYTES
    return tfds.features.FeaturesDict(
        {
            "image_id": tfds.features.Scalar(dtype=np.int64),
            "caption": tfds.features.Text(),
            "rounds": tfds.features.Scalar(dtype=np.int32),
            "questions": tfds.features.Sequence(tfds.features.Text()),
            "answers": tfds.features.Sequence(tfds.features.Text()),
            "options": tfds.features.Tensor(shape=(ROUNDS, OPTIONS), dtype=np.int32, encoding=as_bytes),
            "gt_index": tfds.features.Tensor(shape=(ROUNDS,), dtype=np.int32),
            "relevance_round": tfds.features.Scalar(dtype=np.int32),
            "relevance": tfds.features.Tensor(shape=(OPTIONS,), dtype=np.float32, encoding=as_bytes),
            "image": tfds.features.Tensor(shape=(None,), dtype=np.float32, encoding=as_bytes),
        }
    )
