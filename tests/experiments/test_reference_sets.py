"""The reference-set stage as users run it, on the small world."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from configs import reference_sets as configs
from configs.tables import visdial_table1, visdial_table10
from vatex_jax.cca.cca import CCA
from vatex_jax.data.dialogues import read_dialogues
from vatex_jax.data.sources import open_source
from vatex_jax.errors import ConfigError
from vatex_jax.experiments import reference_sets, table
from vatex_jax.experiments.cca_data import load_cca_data
from vatex_jax.reference_sets import release
from vatex_jax.reports import results

ROOT = Path(__file__).resolve().parents[2]


def small(spec=""):
    config = configs.get_config(spec)
    shrink(config)
    return config


def shrink(config):
    config.data.name = "visdial_sim/tiny"
    config.vectors.update({"dimension": 8, "min_count": 1})
    config.cca.update({"k": 8, "regularization": 1e-3})
    config.eval.update({"bootstrap_samples": 20, "figures": False})


@pytest.fixture(scope="module", autouse=True)
def data_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VATEX_JAX_DATA", str(tmp_path_factory.mktemp("tfds")))
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    config = small()
    config.eval.figures = True
    config.cca.k = 9  # one more than the vectors have numbers
    return folder, reference_sets.run(config, folder, "train_and_evaluate")


def test_sigmas_figures_are_those_of_its_definition(finished):
    """From the saved model and the world's records alone."""
    folder, result = finished
    data = load_cca_data(small(), lambda line: None, judged=True)
    answers = CCA.load(folder / "cca_aq_star.npz").embed(0, data.answers)
    shares = []
    for dialogue, turn in enumerate(data.test.relevance_round):
        options, gt = data.test.options[dialogue, turn], data.test.gt_index[dialogue, turn]
        row = answers[options] @ answers[options[gt]]
        others = np.delete(row, gt)
        sigma = {i for i in range(100) if i == gt or row[i] >= others.max() - others.std(ddof=1)}
        human = {i for i in range(100) if i == gt or data.test.relevance[dialogue, i] > 0}
        both = len(sigma & human)
        shares.append([both / len(sigma | human), both / len(sigma), both / len(human), len(sigma) / 100])
    expected = 100 * np.array(shares)
    for name, column in zip(("iou", "precision", "recall", "size"), expected.T, strict=True):
        assert result["metrics"][name] == pytest.approx(column.mean(), rel=1e-6)
        assert result["metrics"][f"{name}_std"] == pytest.approx(column.std(ddof=1), rel=1e-6)
    assert result["metrics"]["H/iou"] == 100
    gap = result["metrics"]["precision"] - result["metrics"]["S.aq.gt_others/precision"]
    assert result["metrics"]["star_over_aq/precision_gap"] == pytest.approx(gap)


def test_what_a_run_leaves(finished):
    folder, result = finished
    assert results.read(folder / "results.json")["metrics"] == result["metrics"]
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert len(lines) == result["metrics"]["questions"] == 8
    assert all(line["answer"] in line["sigma"] and line["answer"] in line["human"] for line in lines)
    assert (folder / "figures" / "sets.png").stat().st_size > 10_000


def test_the_release_holds_every_round_of_every_split(finished):
    folder, result = finished
    source = open_source("visdial_sim/tiny", None, lambda line: None)
    for name, count in (("train", 240), ("test", 80)):
        sets = list(release.read(folder / "reference_sets" / f"{name}.json.gz"))
        assert len(sets) == count == result["metrics"][f"{name}/released"]
        split = read_dialogues(source, name)
        places = {image: row for row, image in enumerate(split.image_ids.tolist())}
        for one in sets:
            row = places[one.image_id]
            options = split.options[row, one.round]
            assert one.question == split.question_table[split.questions[row, one.round]]
            assert one.answer == split.answer_table[split.answers[row, one.round]]
            assert one.members[split.gt_index[row, one.round]]
            assert one.references == tuple(split.answer_table[option] for option in options[one.members])
        manifest = json.loads((folder / "reference_sets" / f"{name}.json.gz.manifest.json").read_text())
        assert manifest["method"] == "S"
        assert manifest["annotations"] == "train"
        assert manifest["dialogues"] == "once each"
        assert manifest["cca"]["k"] == 8  # what was fitted
        assert manifest["dataset"]["sizes"] == {"train": 24, name: count // 10}  # all that the sets are made from


def test_the_released_sets_are_the_judged_ones(finished):
    folder, _ = finished
    by_place = {(one.image_id, one.round): one for one in release.read(folder / "reference_sets" / "test.json.gz")}
    for line in (folder / "predictions.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert list(by_place[record["image_id"], record["round_id"]].references) == record["sigma"]


def test_a_run_that_was_killed_leaves_nothing_to_one_with_other_settings(tmp_path, monkeypatch):
    def kill(*_):
        raise KeyboardInterrupt

    folder, config = tmp_path / "run", small()
    with monkeypatch.context() as patch:
        patch.setattr(reference_sets, "_result", kill)
        with pytest.raises(KeyboardInterrupt):
            reference_sets.run(config, folder, "train_and_evaluate")
    assert (folder / "reference_sets" / "train.json.gz").exists()
    (folder / "reference_sets" / ".train.json.gz.x.partial").touch()
    (folder / "figures").mkdir()
    config.release.update({"splits": ("test",), "method": "M", "compress": False})
    reference_sets.run(config, folder, "train_and_evaluate")
    names = {"test.json", "test.json.manifest.json", "test.human.json", "test.human.json.manifest.json"}
    assert {path.name for path in (folder / "reference_sets").iterdir()} == names
    assert not (folder / "figures").exists()
    with monkeypatch.context() as patch:
        patch.setattr(release, "write", kill)
        with pytest.raises(KeyboardInterrupt):
            reference_sets.run(config, folder, "train_and_evaluate")
    assert not (folder / "results.json").exists()


def test_peoples_sets_lie_beside_them(finished):
    folder, _ = finished
    sets = {(one.image_id, one.round): one for one in release.read(folder / "reference_sets" / "test.human.json.gz")}
    lines = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert len(sets) == len(lines)
    assert all(list(sets[line["image_id"], line["round_id"]].references) == line["human"] for line in lines)


def test_annotations_of_validation_change_cca_star_alone(finished, tmp_path, capsys):
    _, result = finished
    config = small("human_trainval")
    other = reference_sets.run(config, tmp_path / "run", "train_and_evaluate")
    assert other["metrics"]["S.aq.gt_others/iou"] == result["metrics"]["S.aq.gt_others/iou"]
    assert other["metrics"]["iou"] != result["metrics"]["iou"]
    manifest = json.loads((tmp_path / "run" / "reference_sets" / "test.json.gz.manifest.json").read_text())
    assert list(manifest["dataset"]["sizes"]) == ["train", "validation", "test"]
    assert "are trained on" not in capsys.readouterr().out
    config.data.test_split = "validation"
    reference_sets.run(config, tmp_path / "seen", "train_and_evaluate")
    assert "annotations of the validation split are trained on" in capsys.readouterr().out


def test_tables_1_and_10_share_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number, module in ((10, visdial_table10), (1, visdial_table1)):
        config = module.get_config()
        shrink(config.run)
        config.seeds = (0, 1)
        table.run(config, tmp_path / f"table{number}", "train_and_evaluate")
        text = capsys.readouterr().out
        assert ("2 runs: 0 are in" if number == 10 else "2 runs: 2 are in results/visdial_table10") in text
        assert "missing" not in text
        assert "Sigma, CCA-AQ*, (A_gt, others)" in text
        assert "62.48" in text
        assert "\nSignature of all columns: sets: H, M, G, Sigma" in text
        table.run(config, tmp_path / f"table{number}", "describe")
        described = capsys.readouterr().out.splitlines()
        assert sum("human_train " in line for line in described) == 1
        assert sum(line.endswith(": the same run") for line in described) == len(described) - 2
        differences = text.partition("Difference from")[2]
        assert "precision, %" in differences
        assert not any(name in differences.partition("Ours:")[0] for name in ("A_gt inside", "its spread"))
    assert 'Difference from "Sigma, CCA-AQ*, (A_gt, others)"' in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variant": "human"}, "config.variant is 'human'"),
        ({"training": {"annotations": "trainval"}}, "choose the variant after the colon"),
        (
            {"training": {"split": "trainval"}},
            "config.training.split is 'trainval', but CCA-AQ is fitted on all ground",
        ),
        ({"training": {"answers": "H"}}, "config.training.answers is 'H', .* leave it at 'gt'"),
        ({"release": {"method": "H"}}, "config.release.method is 'H': there are S, M, G"),
        ({"release": {"model": "none"}}, "there are aq, aq_star"),
        (
            {"release": {"splits": ("validation",)}},
            "names 'validation', which was not read: there are train, test. Valid",
        ),
        ({"training": {"clusters": 0}}, "config.training.clusters is 0"),
        ({"cca": {"k": 0}}, "config.cca.k is 0"),
    ],
)
def test_what_cannot_be_run_is_told(changes, message, tmp_path):
    config = small()
    config.update(changes)
    with pytest.raises(ConfigError, match=message):
        reference_sets.run(config, tmp_path / "run", "train_and_evaluate")


def test_describe_needs_no_data(capsys, monkeypatch):
    monkeypatch.setenv("VATEX_JAX_DATA", "/nowhere")
    reference_sets.run(configs.get_config(), Path("/nowhere"), "describe")
    assert "released: S of CCA-AQ* for every split that is read" in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_line_prints_table_1(tmp_path):
    done = subprocess.run(
        [sys.executable, "run_experiment.py", "--config=configs/reference_sets.py",
         "--config.data.name=visdial_sim/tiny", "--config.vectors.dimension=8", "--config.cca.k=8",
         "--config.cca.regularization=1e-3", f"--workdir={tmp_path}/run"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Reference sets against people's H (Table 1)" in done.stdout
