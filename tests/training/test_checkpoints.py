"""Checkpoints come back as they were, or are passed over; never as something else."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from vatex_jax.errors import CheckpointError
from vatex_jax.training.checkpoints import Checkpoints, load_best_params

PRINT = {"config": "abc", "vocabulary": "def"}


def tree(value: float):
    return {
        "enc/oder:猫": {"kernel": jnp.full((3, 2), value, jnp.float32), "empty": np.zeros((0, 4), np.float32)},
        "half": jnp.full(4, value, jnp.bfloat16),
        "pair": (np.int32(value), jnp.array(True)),
    }


def save(folder, step, best_step=None):
    Checkpoints(folder, PRINT).save_last(step, tree(step), {"best_step": best_step, "word": "猫"})


def restore(folder):
    return Checkpoints(folder, PRINT).restore_last(lambda host: tree(0))


def test_round_trip(tmp_path):
    save(tmp_path, 7)
    state, host = restore(tmp_path)
    assert host == {"best_step": None, "word": "猫"}
    assert state["enc/oder:猫"]["kernel"].tolist() == [[7.0, 7.0]] * 3
    assert state["enc/oder:猫"]["empty"].shape == (0, 4)
    assert state["half"].dtype == ml_dtypes.bfloat16
    assert float(state["half"][0]) == 7
    assert state["pair"] == (7, True)
    assert state["pair"][0].dtype == np.int32


def test_large_arrays_and_many_small_ones(tmp_path, monkeypatch):
    monkeypatch.setattr("vatex_jax.training.checkpoints.BLOCK", 64)
    rng = np.random.default_rng(0)
    saved = {f"a{i}": rng.normal(size=(i % 7, 3)).astype([np.float32, np.float64][i % 3 == 0]) for i in range(40)}
    Checkpoints(tmp_path, PRINT).save_last(1, saved, {})
    restored, _ = Checkpoints(tmp_path, PRINT).restore_last(lambda host: saved)
    for name, array in saved.items():
        assert restored[name].dtype == array.dtype
        np.testing.assert_array_equal(restored[name], array)


def test_an_empty_folder_has_nothing_to_restore(tmp_path):
    assert restore(tmp_path / "checkpoints") is None


def files_of(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_any_damage_to_the_newest_falls_back_to_the_one_before(tmp_path):
    rng = np.random.default_rng(0)
    save(tmp_path, 1)
    save(tmp_path, 2)
    names = files_of(tmp_path / "last-00000002")
    assert "manifest.json" in names
    assert any(name.startswith("arrays/float32-") for name in names)
    for name in names:
        for damage in ("cut", "gone", "flipped"):
            path = tmp_path / "last-00000002" / name
            content = path.read_bytes()
            if damage == "cut":
                path.write_bytes(content[: len(content) // 2])
            elif damage == "gone":
                path.unlink()
            else:
                position = int(rng.integers(len(content)))
                path.write_bytes(
                    content[:position]
                    + bytes([content[position] ^ (1 << int(rng.integers(8)))])
                    + content[position + 1 :]
                )
            with pytest.warns(UserWarning, match="last-00000002 is damaged"):
                state, _ = restore(tmp_path)
            assert int(state["pair"][0]) == 1, (name, damage)
            (tmp_path / "damaged-last-00000002").rename(tmp_path / "last-00000002")
            path.write_bytes(content)
    assert int(restore(tmp_path)[0]["pair"][0]) == 2


def test_nothing_readable_is_an_error(tmp_path):
    for step in (1, 2):
        save(tmp_path, step)
        (tmp_path / f"last-{step:08d}" / "checkpoint.json").write_text("{", "utf-8")
    with pytest.warns(UserWarning, match="damaged"), pytest.raises(CheckpointError, match="None of the 2 checkpoints"):
        restore(tmp_path)
    assert (tmp_path / "last-00000002").exists()


def test_another_configuration_is_refused_by_name(tmp_path):
    save(tmp_path, 1)
    other = Checkpoints(tmp_path, {**PRINT, "vocabulary": "xyz"})
    with pytest.raises(CheckpointError, match=r"another vocabulary .*def there, xyz here"):
        other.restore_last(lambda host: tree(0))


def test_another_model_is_refused_with_the_first_parameters_that_differ(tmp_path):
    save(tmp_path, 1)
    template = tree(0)
    template["enc/oder:猫"]["kernel"] = np.zeros((3, 5), np.float32)
    template["new"] = np.zeros(1)
    del template["half"]
    with pytest.raises(CheckpointError) as error:
        Checkpoints(tmp_path, PRINT).restore_last(lambda host: template)
    for part in (
        "enc/oder:猫/kernel: [3, 2] float32 in the checkpoint, [3, 5] float32 in this model",
        "new: absent in the checkpoint, [1] float64 in this model",
        "half: [4] bfloat16 in the checkpoint, absent in this model",
    ):
        assert part in str(error.value)


def test_two_newest_are_kept_and_the_bests_they_name(tmp_path):
    checkpoints = Checkpoints(tmp_path, PRINT)
    for step, best in [(1, 1), (2, 1), (3, 3), (4, 4), (5, 4)]:
        if step == best:
            checkpoints.save_best(step, {"w": np.full(2, step)})
        save(tmp_path, step, best)
        assert len(list(tmp_path.glob("best-*"))) <= 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best-00000004", "last-00000004", "last-00000005"]
    assert load_best_params(tmp_path, {"w": np.zeros(2, int)}, PRINT)["w"].tolist() == [4, 4]


def test_a_best_that_no_last_names_does_not_count(tmp_path):
    # A kill after an evaluation's best was written and before its last was.
    checkpoints = Checkpoints(tmp_path, PRINT)
    checkpoints.save_best(1, {"w": np.full(2, 1)})
    save(tmp_path, 1, 1)
    checkpoints.save_best(2, {"w": np.full(2, 2)})
    assert checkpoints.load_best({"w": np.zeros(2, int)})[1] == 1


def test_a_damaged_best_falls_back_too(tmp_path):
    checkpoints = Checkpoints(tmp_path, PRINT)
    for step in (1, 2):
        checkpoints.save_best(step, {"w": np.full(2, step)})
        save(tmp_path, step, step)
    (tmp_path / "best-00000002" / "checkpoint.json").unlink()
    with pytest.warns(UserWarning, match="best-00000002 is damaged"):
        params, step = checkpoints.load_best({"w": np.zeros(2, int)})
    assert step == 1
    assert params["w"].tolist() == [1, 1]


def test_nothing_trained_yet_is_explained(tmp_path):
    with pytest.raises(CheckpointError, match="train first"):
        load_best_params(tmp_path / "checkpoints", {}, PRINT)


def test_saving_a_step_again_replaces_it_and_leftovers_of_a_kill_go(tmp_path):
    save(tmp_path, 1)
    (tmp_path / ".partial-last-00000002").mkdir()
    Checkpoints(tmp_path, PRINT).save_last(1, tree(9), {"best_step": None})
    assert int(restore(tmp_path)[0]["pair"][0]) == 9
    assert [path.name for path in tmp_path.iterdir()] == ["last-00000001"]


def test_a_kill_between_the_renames_of_a_replacement_loses_nothing(tmp_path, monkeypatch):
    save(tmp_path, 1)
    save(tmp_path, 2)
    renames, rename = [], type(tmp_path).rename

    def stop_at_the_second(self, target):
        renames.append(self.name)
        if len(renames) == 2:
            raise KeyboardInterrupt  # as good as a kill: no handler of ours takes it
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(type(tmp_path), "rename", stop_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            Checkpoints(tmp_path, PRINT).save_last(2, tree(9), {"best_step": None})
    assert not (tmp_path / "last-00000002").exists()
    assert int(restore(tmp_path)[0]["pair"][0]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last-00000001", "last-00000002"]


def test_a_full_disk_is_our_error_and_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    save(tmp_path, 1)

    def full(*arguments, **named):
        raise ValueError("RESOURCE_EXHAUSTED: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("orbax.checkpoint.PyTreeCheckpointHandler.save", full)
        with pytest.raises(CheckpointError, match=r"No space left on device.*run the same command"):
            save(tmp_path, 2)
    assert [path.name for path in tmp_path.iterdir()] == ["last-00000001"]
