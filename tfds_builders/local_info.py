"""What TFDS knows of a data set comes from its folder alone, never from the public bucket.

A builder whose data set is not there yet looks for a description of it in TFDS's bucket, for which it makes a temporary
folder that it leaves behind. Ours are no public data sets, and nothing is downloaded here; TFDS has a switch for the
bucket, but makes the folder in spite of it.
"""

import tensorflow_datasets as tfds


class LocalInfo(tfds.core.DatasetInfo):
    """A description that is written by the builder or read from the data set's folder."""

    def initialize_from_bucket(self) -> None:
        """Does nothing: what is not in the folder is not known."""


class LocalBuilder:
    """Goes before a TFDS builder class among a builder's bases, and gives it `LocalInfo`."""

    def dataset_info_from_configs(self, **described: object) -> LocalInfo:
        """See TFDS; `described` is what the files beside the builder's module do not say."""
        metadata = self.get_metadata()
        own = {"description": metadata.description, "citation": metadata.citation}
        return LocalInfo(builder=self, **described | {name: text for name, text in own.items() if text})
