"""build.py: the command line, kills, builds at once, and data sets that exist already."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import textwrap

import pytest

from tfds_builders import build as build_lib
from tfds_builders.build import build, main
from vatex_jax.errors import ConfigError, DataError

ROOT = pathlib.Path(build_lib.__file__).resolve().parent.parent
SCRIPT = ROOT / "tfds_builders" / "build.py"


def run(*arguments: object, cwd: pathlib.Path, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def files_below(folder: pathlib.Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def train_ids(data_dir: pathlib.Path, name: str = "vatex") -> list[str]:
    source = build(name, data_dir=data_dir, report=lambda line: None).as_data_source(split="train")
    return [source[i]["video_id"].decode() for i in range(len(source))]


IDS = ["-a_000001_000011", "_b_000000_000010", "c_000002_000012"]


def test_script_runs_from_any_folder_without_tensorflow_and_says_what_it_did(vatex_folder, tmp_path):
    done = run("vatex", f"--manual_dir={vatex_folder}", cwd=tmp_path, VATEX_JAX_DATA="")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["split", "videos", "en", "zh", "pairs", "skipped"] in lines
    assert ["train", "3", "13", "17", "7", "0"] in lines
    assert lines[-1][:4] == ["vatex/i3d", "is", "in", "data/tfds/vatex/i3d/1.0.0"]
    assert train_ids(tmp_path / "data" / "tfds") == IDS
    again = run("vatex", cwd=tmp_path, VATEX_JAX_DATA=str(tmp_path / "data" / "tfds"))
    assert again.returncode == 0
    assert "is built already" in again.stdout

    bad = run("vatex", f"--manual_dir={tmp_path / 'absent'}", "--features=none", cwd=tmp_path)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == f"error: {tmp_path / 'absent'}: no such folder.\n"


def test_importing_and_building_needs_no_tensorflow(vatex_folder, tmp_path):
    code = """
        import sys
        from tfds_builders.build import build
        builder = build("vatex", manual_dir=sys.argv[1], data_dir=sys.argv[2])
        print(len(builder.as_data_source(split="train")), "tensorflow" in sys.modules, "jax" in sys.modules)
    """
    done = run_python(code, vatex_folder, tmp_path / "out")
    assert done.stdout.splitlines()[-1] == "3 False False", done.stderr


KILLED_IN_THE_THIRD_VIDEO = """
    import os, signal, sys
    from tfds_builders.build import build
    from tfds_builders.vatex import vatex_dataset_builder as module
    read, calls = module.read_features, []
    def read_or_die(path):
        calls.append(path)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return read(path)
    module.read_features = read_or_die
    module.SHARD_BYTES = 1
    build("vatex", manual_dir=sys.argv[1], data_dir=sys.argv[2], overwrite=True)
"""


def test_a_killed_build_leaves_no_data_set_and_the_next_one_works(vatex_folder, tmp_path):
    out = tmp_path / "out"
    done = run_python(KILLED_IN_THE_THIRD_VIDEO, vatex_folder, out)
    assert done.returncode == -signal.SIGKILL
    assert any(".array_record" in name for name in files_below(out)), "it died too early for this test"
    assert not (out / "vatex").exists()
    with pytest.raises(DataError, match="not built yet"):
        build("vatex", data_dir=out)
    assert main(["vatex", f"--manual_dir={vatex_folder}", f"--data_dir={out}"]) == 0
    assert train_ids(out) == IDS
    assert not [path for path in out.iterdir() if path.name.startswith(".building")]
    assert not [name for name in files_below(out) if "incomplete" in name]


def test_a_data_set_outlives_the_failure_of_what_should_replace_it(vatex_folder, tmp_path):
    out = tmp_path / "out"
    build("vatex", manual_dir=vatex_folder, data_dir=out)
    before = files_below(out / "vatex")
    assert run_python(KILLED_IN_THE_THIRD_VIDEO, vatex_folder, out).returncode == -signal.SIGKILL
    assert files_below(out / "vatex") == before
    assert train_ids(out) == IDS

    path = vatex_folder / "trainval" / "c_000002_000012.npy"
    path.write_bytes(path.read_bytes()[:-4] + b"\xff\xff\xff\xff")  # a NaN, found while records are being written
    with pytest.raises(DataError, match="nan"):
        build("vatex", manual_dir=vatex_folder, data_dir=out, overwrite=True)
    assert files_below(out / "vatex") == before
    assert train_ids(out) == IDS


def test_a_data_set_moved_away_by_a_killed_replacement_comes_back(vatex_folder, tmp_path):
    out = tmp_path / "out"
    final = pathlib.Path(build("vatex", manual_dir=vatex_folder, data_dir=out).data_dir)
    staging = out / ".building-vatex-i3d"
    staging.mkdir()
    final.rename(staging / "replaced")  # the moment between the two renames
    assert train_ids(out) == IDS
    assert not staging.exists()


def test_two_builds_at_once_give_one_data_set(vatex_folder, tmp_path):
    command = [sys.executable, str(SCRIPT), "vatex", f"--manual_dir={vatex_folder}", f"--data_dir={tmp_path / 'out'}"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert sorted("is built already" in stdout for stdout, _ in outputs) == [False, True]
    assert train_ids(tmp_path / "out") == IDS


def test_the_second_waits_for_the_lock(vatex_folder, tmp_path):
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "out"
    out.mkdir()
    with (out / ".vatex-none.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        command = [sys.executable, "-u", str(SCRIPT), "vatex/none", f"--manual_dir={vatex_folder}", f"--data_dir={out}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert "Another process is building vatex/none" in process.stdout.readline()
        assert not (out / "vatex").exists()
    process.communicate(timeout=300)
    assert process.returncode == 0
    assert len(train_ids(out, "vatex/none")) == 3


def test_a_lock_that_its_holder_removed_is_not_mistaken_for_the_next(vatex_folder, tmp_path):
    """Whoever waited on the removed file must wait for who holds the new one of that name."""
    fcntl = pytest.importorskip("fcntl")
    out = tmp_path / "out"
    out.mkdir()
    path = out / ".vatex-none.lock"
    first = path.open("w")
    fcntl.flock(first, fcntl.LOCK_EX)
    command = [sys.executable, "-u", str(SCRIPT), "vatex/none", f"--manual_dir={vatex_folder}", f"--data_dir={out}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert "Another process is building vatex/none" in process.stdout.readline()
    path.unlink()
    with path.open("w") as second:
        fcntl.flock(second, fcntl.LOCK_EX)
        first.close()
        assert "Another process is building vatex/none" in process.stdout.readline()
        assert not (out / "vatex").exists()
    process.communicate(timeout=300)
    assert process.returncode == 0
    assert len(train_ids(out, "vatex/none")) == 3
    assert not path.exists()


def test_no_build_leaves_its_lock_behind(vatex_folder, tmp_path):
    with pytest.raises(DataError, match="not built yet"):
        build("vatex", data_dir=tmp_path / "a")
    assert list((tmp_path / "a").iterdir()) == []
    build("vatex/none", manual_dir=vatex_folder, data_dir=tmp_path / "b")
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["vatex"]


def test_a_data_set_from_other_files_is_refused_with_what_differs(vatex_folder, tmp_path, capsys):
    out = f"--data_dir={tmp_path / 'out'}"
    folder = f"--manual_dir={vatex_folder}"
    assert main(["vatex", folder, out]) == 0
    capsys.readouterr()
    assert main(["vatex", folder, out]) == 0
    assert capsys.readouterr().out.startswith("vatex/i3d is built already, from these files: ")

    path = vatex_folder / "vatex_validation_v1.0.json"
    records = json.loads(path.read_text(encoding="utf-8"))
    records[0]["enCap"] = ["Another crane ."]
    path.write_text(json.dumps(records))
    (vatex_folder / "vatex_public_test_english_v1.1.json").unlink()
    (vatex_folder / "trainval" / "c_000002_000012.npy").unlink()
    (vatex_folder / "kinetics_train.csv").unlink()
    (vatex_folder / "STAND_IN_FEATURES").touch()
    assert main(["vatex", folder, out]) == 2
    assert "1 of 3 videos" in capsys.readouterr().err
    assert main(["vatex", folder, out, "--missing_features=skip"]) == 2
    error = capsys.readouterr().err
    for difference in (
        "captions of validation",
        "captions of public_test",
        "now none",
        "videos of train: 3 were built, now there are 2",
        "the feature files",
        "Kinetics",
        "stand_in: built as False, now True",
        "--overwrite",
    ):
        assert difference in error
    assert "private_test" not in error
    assert main(["vatex", folder, out, "--missing_features=skip", "--overwrite"]) == 0
    assert train_ids(tmp_path / "out") == IDS[:2]
    assert main(["vatex", folder, out, "--missing_features=skip"]) == 0


def test_features_changed_in_place_are_seen(vatex_folder, tmp_path, expected_features):
    import numpy as np

    build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "out")
    np.save(vatex_folder / "trainval" / "c_000002_000012.npy", expected_features("c") + 1)
    with pytest.raises(DataError, match="other files: the feature files"):
        build("vatex", manual_dir=vatex_folder, data_dir=tmp_path / "out")


def test_a_data_set_of_unknown_origin_is_refused(vatex_folder, tmp_path):
    final = pathlib.Path(build("vatex", manual_dir=vatex_folder, data_dir=tmp_path).data_dir)
    (final / "sources.json").write_text("{")
    with pytest.raises(DataError, match=r"sources\.json: missing or damaged.*--overwrite"):
        build("vatex", manual_dir=vatex_folder, data_dir=tmp_path)
    (final / "sources.json").unlink()
    with pytest.raises(DataError, match=r"sources\.json: missing or damaged.*--overwrite"):
        build("vatex", manual_dir=vatex_folder, data_dir=tmp_path)


def test_what_is_not_built_tells_where_it_was_looked_for_and_a_command_that_builds_it_there(
    vatex_folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VATEX_JAX_DATA", "data sets")
    with pytest.raises(DataError) as caught:
        build("vatex/none")
    assert f"is not built yet: there is no {tmp_path}/data sets/vatex/none/1.0.0." in str(caught.value)
    (command,) = [line for line in str(caught.value).splitlines() if "build.py" in line]
    words = shlex.split(command)
    assert words[:2] == ["python", "tfds_builders/build.py"]
    assert main([word.replace("FOLDER", str(vatex_folder)) for word in words[2:]]) == 0
    assert len(train_ids(tmp_path / "data sets", "vatex/none")) == 3
    assert main([*words[2:3], "--overwrite"]) == 2
    assert "--overwrite\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["visdal"], ["no such data set", "vatex, vatex_sim, visdial and visdial_sim"]),
        (["vatex/c3d"], ["'c3d'", "i3d and none"]),
        (["vatex/i3d", "--features=none"], ["contradict"]),
        (["vatex_sim", "--features=none"], ["option of vatex"]),
        (["visdial", "--features=none"], ["option of vatex"]),
        (["visdial_sim", "--stand_in"], ["visdial_sim is made from a seed", "stand_in"]),
        (["visdial/i3d"], ["'i3d'", "v1.0 and v0.9"]),
        (["visdial"], ["not built yet", "visdial_1.0_train.json", "--image_features"]),
        (["vatex_sim", "--manual_dir=x"], ["manual_dir"]),
        (["vatex_sim/huge"], ["huge"]),
        (["vatex_sim/tiny-wx"], ["tiny-wx"]),
        (["vatex/none", "--manual_dir=x", "--stand_in"], ["stand_in"]),
        (["vatex"], ["not built yet", "vatex_training*.json", "--manual_dir"]),
        (["vatex", "--overwrite"], ["without its files"]),
    ],
)
def test_wrong_options_are_explained(arguments, words, tmp_path, capsys):
    assert main([*arguments, f"--data_dir={tmp_path}"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    for word in words:
        assert word in captured.err


def test_unknown_choices_are_refused(tmp_path, capsys):
    for arguments in (["vatex", "--features=c3d"], ["vatex", "--missing_features=ignore"], []):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
    with pytest.raises(ConfigError, match="'ignore'"):
        build("vatex", manual_dir=tmp_path, data_dir=tmp_path, missing_features="ignore")


def test_a_data_dir_that_cannot_be_written_is_an_error_of_the_user(vatex_folder, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["vatex", f"--manual_dir={vatex_folder}", f"--data_dir={tmp_path / 'file'}"]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_data_go_where_the_variable_says(monkeypatch, tmp_path):
    monkeypatch.delenv("VATEX_JAX_DATA", raising=False)
    assert build_lib.default_data_dir() == pathlib.Path("data/tfds")
    monkeypatch.setenv("VATEX_JAX_DATA", str(tmp_path))
    assert build_lib.default_data_dir() == tmp_path


def test_the_simulated_world_is_built_once(tmp_path, capsys):
    builder = build("vatex_sim/tiny", data_dir=tmp_path)
    assert set(builder.info.splits) == {"train", "validation", "test"}
    assert builder.as_data_source(split="train")[0]["features"].shape[1] == 1024
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines()[-1].startswith("vatex_sim/tiny is in ")
    assert main(["vatex_sim/tiny-w0", f"--data_dir={tmp_path}"]) == 0
    assert "is built already" in capsys.readouterr().out


def test_the_other_world_is_built_by_its_module(tmp_path):
    lines = []
    builder = build("visdial_sim/tiny-w3", data_dir=tmp_path, report=lines.append)
    version = build_lib.current_version("visdial_sim")
    assert builder.info.full_name == f"visdial_sim/tiny-w3/{version}"
    assert builder.builder_config.world_seed == 3
    assert ["split", "dialogues"] in [line.split() for line in lines]
    assert (tmp_path / "visdial_sim" / "tiny-w3" / version / "answers.json").is_file()
