"""Builders of data sets that are not there ask no bucket and leave nothing behind."""

import tempfile

import pytest
from tensorflow_datasets.core.utils import gcs_utils

from tfds_builders.build import NAMES, build
from tfds_builders.data_sets import DATA_SETS, Options
from tfds_builders.local_info import LocalInfo


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files, a new one."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def asked(monkeypatch):
    """What the bucket was asked for."""
    names: list[str] = []
    monkeypatch.setattr(gcs_utils, "gcs_dataset_info_files", names.append)
    return names


@pytest.mark.parametrize("name", NAMES)
def test_a_builder_without_its_data_set_is_silent_and_leaves_nothing(name, temporary, asked, tmp_path):
    data_set = DATA_SETS[name]
    builder = data_set.make(Options(data_set.config_of("", None), tmp_path), tmp_path)
    assert isinstance(builder.info, LocalInfo)
    assert builder.info.description
    assert (asked, list(temporary.iterdir())) == ([], [])


def test_a_build_leaves_nothing_and_is_read_with_its_description(temporary, asked, tmp_path):
    builder = build("visdial_sim/tiny", data_dir=tmp_path / "data", report=lambda line: None)
    assert (asked, list(temporary.iterdir())) == ([], [])
    assert "simulated" in builder.info.description
    assert builder.info.splits["test"].num_examples == 8
