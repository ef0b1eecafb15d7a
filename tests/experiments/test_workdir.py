"""A run's folder: what is refused, what is replaced, what a mistake leaves behind, and who may work in it."""

import json

import pytest

from configs import vmt
from vatex_jax.errors import CheckpointError
from vatex_jax.experiments.workdir import locked, open_workdir, outputs_folder


@pytest.fixture
def begun(tmp_path):
    """A folder in which training has got somewhere."""
    workdir = open_workdir(tmp_path / "run", vmt.get_config())
    (workdir / "metrics.jsonl").write_text("{}\n")
    return workdir


def other_config():
    config = vmt.get_config()
    config.seed = 9
    return config


def test_a_mistake_before_training_does_not_bind_the_next_command(tmp_path):
    workdir = open_workdir(tmp_path / "run", vmt.get_config())
    (workdir / "vocabulary_en.json").write_text("of other data")
    assert open_workdir(tmp_path / "run", other_config()) == workdir
    assert json.loads((workdir / "config.json").read_text())["seed"] == 9
    assert not (workdir / "vocabulary_en.json").exists()


def test_what_was_trained_is_not_given_up(begun):
    with pytest.raises(CheckpointError, match="seed: 0 there, 9 now"):
        open_workdir(begun, other_config())
    assert open_workdir(begun, other_config(), overwrite=True) == begun
    assert not (begun / "metrics.jsonl").exists()


def test_overwriting_behind_a_link_keeps_the_link(begun, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(begun)
    assert open_workdir(link, other_config(), overwrite=True) == begun
    assert link.resolve() == begun
    assert json.loads((link / "config.json").read_text())["seed"] == 9


@pytest.mark.parametrize("content", [b"", b'{"experiment": "tra', b"\xff\xfe"])
def test_a_damaged_configuration_says_what_to_do_and_can_be_overwritten(begun, content):
    (begun / "config.json").write_bytes(content)
    with pytest.raises(CheckpointError, match="start anew with --overwrite"):
        open_workdir(begun, vmt.get_config())
    assert open_workdir(begun, vmt.get_config(), overwrite=True) == begun
    assert json.loads((begun / "config.json").read_text())["seed"] == 0


@pytest.mark.parametrize("files", [{"config.json": '{"their": 1}'}, {"config.json": "{"}, {"a.tex": ""}])
def test_others_folders_are_left_alone(tmp_path, files):
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content)
    for overwrite in (False, True):
        with pytest.raises(CheckpointError):
            open_workdir(folder, vmt.get_config(), overwrite=overwrite)
    assert {path.name: path.read_text() for path in folder.iterdir()} == files


def test_one_process_at_a_time(begun):
    with locked(begun):
        with pytest.raises(CheckpointError, match="Another process works in"), locked(begun):
            pass
        with pytest.raises(CheckpointError, match="Another process works in"):
            open_workdir(begun, other_config(), overwrite=True)
        assert (begun / "metrics.jsonl").exists()
    with locked(begun):
        pass


def test_what_is_decoded_otherwise_has_a_folder_by_what_differs(begun):
    config = vmt.get_config()
    config.eval.bootstrap_samples = 7
    config.data.data_dir = "/elsewhere"
    config.decode.batch_size = 3
    assert outputs_folder(begun, config) == begun
    config.decode.length_penalty = 0.5
    config.data.test_split = "public_test"
    assert outputs_folder(begun, config) == begun / "decoded" / "test_split=public_test,length_penalty=0.5"


def test_a_run_that_is_still_loading_is_not_taken_for_a_mistake(tmp_path):
    workdir = open_workdir(tmp_path / "run", vmt.get_config())
    before = (workdir / "config.json").read_bytes()
    with locked(workdir), pytest.raises(CheckpointError, match="Another process works in"):
        open_workdir(tmp_path / "run", other_config())
    assert (workdir / "config.json").read_bytes() == before
