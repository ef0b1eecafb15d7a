"""The table experiment: what it runs, keeps, passes over, refuses and prints; the runs themselves are pretended."""

import dataclasses
import json
import shutil
import sys
import types

import ml_collections
import numpy as np
import pytest

from configs import captioning
from configs.tables import vatex_table4, vatex_table5, visdial_table5
from vatex_jax.data.sources import current_version
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments import EXPERIMENTS, table
from vatex_jax.metrics import coco
from vatex_jax.reports import cells, results, tables


@pytest.fixture
def config(tmp_path) -> ml_collections.ConfigDict:
    config = vatex_table5.get_config("en2zh")
    config.seeds = (0, 1)
    config.results_dir = str(tmp_path / "kept")
    return config


@pytest.fixture
def runs(monkeypatch, make_result) -> list[tuple[str, int]]:
    """(variant, seed) of each run the pretended experiment was asked for."""
    asked: list[tuple[str, int]] = []

    def run(config, workdir, mode, overwrite):
        assert mode == "train_and_evaluate"
        asked.append((config.variant, config.seed))
        bleu4 = 20.0 + config.seed + 5 * (config.variant == "attention")
        dataset = {"name": config.data.name, "version": current_version(config.data.name)}
        result = make_result(variant=config.variant, seed=config.seed, dataset=dataset, metrics={"bleu4": bleu4})
        result["config"] = config.to_dict()
        workdir.mkdir(parents=True, exist_ok=True)
        np.save(workdir / "bleu_statistics.npy", np.ones((3, 10), np.int32))
        results.write(workdir / "results.json", result)
        return result

    monkeypatch.setitem(sys.modules, "pretended", types.SimpleNamespace(run=run))
    monkeypatch.setitem(EXPERIMENTS, "translation", "pretended")
    return asked


def test_every_row_and_seed_is_run_kept_and_printed_once(config, runs, tmp_path, capsys):
    table.run(config, tmp_path / "work", "train_and_evaluate")
    assert runs == [(row, seed) for seed in (0, 1) for row in config.rows]
    printed = capsys.readouterr().out
    assert "10 to go" in printed
    assert "25.5" in printed  # attention's mean over both seeds
    assert (tmp_path / "kept" / "vatex_sim" / "en2zh-none-seed1" / "bleu_statistics.npy").exists()
    runs.clear()
    table.run(config, tmp_path / "work", "train_and_evaluate")
    assert runs == []


def test_what_is_missing_alone_is_run(config, runs, tmp_path):
    table.run(config, tmp_path / "work", "train_and_evaluate")
    (tmp_path / "kept" / "vatex_sim" / "en2zh-final-seed1" / "results.json").unlink()
    runs.clear()
    table.run(config, tmp_path / "work", "train_and_evaluate")
    assert runs == [("final", 1)]


def test_results_of_another_configuration_are_refused_and_kept(config, runs, tmp_path):
    table.run(config, tmp_path / "work", "train_and_evaluate")
    path = tmp_path / "kept" / "vatex_sim" / "en2zh-none-seed0" / "results.json"
    before = path.read_bytes()
    config.run.train.epochs = 99
    with pytest.raises(ConfigError, match=r"(?s)train\.epochs: \d+ there, 99 now.*--overwrite"):
        table.run(config, tmp_path / "work", "train_and_evaluate")
    assert path.read_bytes() == before


def test_results_of_two_versions_of_a_data_set_are_not_mixed(config, runs, tmp_path):
    table.run(config, tmp_path / "work", "train_and_evaluate")
    kept = tmp_path / "kept" / "vatex_sim"
    path = kept / "en2zh-none-seed0" / "results.json"
    held = results.read(path)
    held["dataset"]["version"] = "0.9.0"
    path.write_text(json.dumps(held), encoding="utf-8")
    (kept / "en2zh-final-seed1" / "results.json").unlink()
    runs.clear()
    with pytest.raises(ConfigError, match=r"0\.9\.0, which is \d.*--overwrite"):
        table.run(config, tmp_path / "work", "train_and_evaluate")
    assert runs == []


def test_results_of_the_bundled_worlds_are_kept_with_the_repository_and_others_in_the_work_folder(
    config, runs, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    config.results_dir, config.seeds = "", (0,)
    table.run(config, tmp_path / "work", "train_and_evaluate")
    assert (tmp_path / "results" / "vatex_table5" / "vatex_sim" / "en2zh-none-seed0" / "results.json").exists()
    config.run.data.name = "vatex/i3d"
    runs.clear()
    for _ in range(2):  # found again there
        table.run(config, tmp_path / "work", "train_and_evaluate")
    assert len(runs) == 5
    assert (tmp_path / "work" / "vatex-i3d" / "en2zh-none-seed0" / "results.json").exists()
    assert [path.name for path in (tmp_path / "results" / "vatex_table5").iterdir()] == ["vatex_sim"]


def test_what_rows_lack_is_told_before_the_first_run(config, runs, monkeypatch, tmp_path):
    def check_inputs(one):
        if one.variant in ("average", "final"):
            raise DataError("no video, see config.data.name")

    monkeypatch.setattr(sys.modules["pretended"], "check_inputs", check_inputs, raising=False)
    with pytest.raises(ConfigError, match=r"(?s)average, final: no video.*--config\.run\.FIELD"):
        table.run(config, tmp_path / "work", "train_and_evaluate")
    assert (runs, list(tmp_path.iterdir())) == ([], [])
    monkeypatch.setattr(sys.modules["pretended"], "check_inputs", lambda one: None)
    table.run(config, tmp_path / "work", "train_and_evaluate")
    assert len(runs) == 10
    monkeypatch.setattr(sys.modules["pretended"], "check_inputs", check_inputs)
    table.run(config, tmp_path / "work", "train_and_evaluate")  # what is there already lacks nothing


def test_a_run_that_fails_is_named_and_how_its_fields_are_set(config, runs, monkeypatch, tmp_path):
    def fail(one, workdir, mode, overwrite):
        raise DataError("too few rows; fields: config.cca.k.")

    monkeypatch.setattr(sys.modules["pretended"], "run", fail)
    with pytest.raises(DataError, match=r"(?s)^vatex_sim/en2zh-attention-seed0: too few rows.*--config\.run\.FIELD"):
        table.run(config, tmp_path / "work", "train_and_evaluate")


def test_another_world_is_kept_apart(config, runs, tmp_path):
    table.run(config, tmp_path / "work", "train_and_evaluate")
    config.run.data.name = "vatex_sim/default-w11"
    runs.clear()
    table.run(config, tmp_path / "work", "train_and_evaluate")
    assert len(runs) == 10
    assert (tmp_path / "kept" / "vatex_sim-default-w11" / "en2zh-none-seed0" / "results.json").exists()


def test_a_process_that_is_not_the_first_prints_no_table(config, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "pretended", types.SimpleNamespace(run=lambda *arguments: None))
    monkeypatch.setitem(EXPERIMENTS, "translation", "pretended")
    assert table.run(config, tmp_path / "work", "train_and_evaluate") is None
    assert "NMT" not in capsys.readouterr().out
    assert not (tmp_path / "kept").exists()


def test_modes_and_tables_that_mean_nothing_are_errors(config, tmp_path):
    with pytest.raises(ConfigError, match="mode=predict"):
        table.run(config, tmp_path, "predict")
    config.table = "vatex_table99"
    with pytest.raises(ConfigError, match="vatex_table99"):
        table.run(config, tmp_path, "describe")


def test_table4_runs_every_model_once_a_seed():
    names = [name for name, _ in table.planned(vatex_table4.get_config())]
    assert len(names) == len(set(names)) == 35
    variants = [
        "base_en", "base_en_untied", "base_zh", "base_zh_untied", "shared_enc", "shared_enc_dec", "shuffled",
    ]  # fmt: skip
    assert names[:7] == [f"vatex_sim/{variant}-seed0" for variant in variants]
    runs = dict(table.planned(vatex_table4.get_config()))
    assert tuple(runs["vatex_sim/base_zh_untied-seed3"].model.languages) == ("zh",)
    assert not runs["vatex_sim/base_zh_untied-seed3"].model.tied
    assert runs["vatex_sim/base_zh_untied-seed3"].seed == 3
    assert not runs["vatex_sim/shared_enc-seed0"].model.shared_decoder
    assert len({(one.train.epochs, one.train.finetune_private) for one in runs.values()}) == 1
    assert vatex_table4.get_config("paper").run.train.finetune_private


def test_captions_of_all_rows_are_drawn_side_by_side(monkeypatch, make_result, tmp_path, capsys):
    def run(config, workdir, mode, overwrite):
        languages = tuple(config.model.languages)
        names = ("bleu4", "meteor", "rouge_l", "cider")
        signed = {f"{one}/{key}": text for one in languages for key, text in coco.signature(one).items()}
        result = make_result(
            experiment="captioning",
            variant=config.variant,
            dataset={"name": config.data.name, "version": current_version(config.data.name)},
            metrics={f"{language}/{name}": 9.0 for language in languages for name in names},
            signature={**signed, "decoding": "beam:5"},
        )
        result["config"] = config.to_dict()
        said = {one: {"n_best": [{"text": f"{config.variant} says"}], "references": ["a dog"]} for one in languages}
        workdir.mkdir(parents=True)
        (workdir / "predictions.jsonl").write_text(json.dumps({"video_id": "v", **said}) + "\n", encoding="utf-8")
        results.write(workdir / "results.json", result)
        return result

    drawn = {}
    one = tables.TABLES["vatex_table4"]
    sheet = one.sheet._replace(draw=lambda there, path, note: drawn.update({path: [note, *there]}))
    monkeypatch.setitem(tables.TABLES, "vatex_table4", dataclasses.replace(one, sheet=sheet))
    monkeypatch.setitem(sys.modules, "pretended", types.SimpleNamespace(run=run))
    monkeypatch.setitem(EXPERIMENTS, "captioning", "pretended")
    config = vatex_table4.get_config()
    config.seeds, config.results_dir = (3, 4), str(tmp_path / "kept")
    table.run(config, tmp_path / "work", "train_and_evaluate")
    path = tmp_path / "work" / "figures" / "captions-seed3.png"
    assert drawn == {path: ["vatex_sim 1.1.0: SIMULATED", *sorted(captioning.VARIANTS)]}
    assert str(path) in capsys.readouterr().out
    shutil.rmtree(tmp_path / "work")
    drawn.clear()
    table.run(config, tmp_path / "work", "train_and_evaluate")
    assert not drawn


def test_a_sheet_that_cannot_be_drawn_is_told_and_the_rest_goes_on(tmp_path, capsys):
    config = ml_collections.ConfigDict({"seed": 3})
    (tmp_path / "w" / "a-seed3").mkdir(parents=True)
    (tmp_path / "w" / "a-seed3" / "predictions.jsonl").write_text("{}")

    def draw(there, path, note):
        raise DataError("nothing is masked")

    table._draw_sheet(cells.Sheet("x-{seed}.png", "Outputs", draw), [("w/a-seed3", config)], tmp_path)
    assert "Outputs of seed 3 are not drawn: nothing is masked" in capsys.readouterr().out


def test_describe_counts_table4_s_parameters_for_any_vocabularies(monkeypatch, tmp_path, capsys):
    """52.5M, 39.7M, 34.9M and 26.3M are the paper's, for 11,000 English and 14,140 Chinese words."""
    monkeypatch.setenv("VATEX_JAX_DATA", str(tmp_path / "nothing"))
    config = vatex_table4.get_config("paper")
    assert table.run(config, tmp_path / "work", "describe") is None
    printed = capsys.readouterr().out
    for row, count in (
        ("Base w/o WT (two models)", "52,526,644"),
        ("Base (two models)", "39,654,964"),
        ("Shared Enc", "34,931,764"),
        ("Shared Enc-Dec", "26,275,892"),
    ):
        assert f"{row}: {count} parameters" in printed
    config.vocabulary_size.en += 10
    table.run(config, tmp_path / "work", "describe")
    assert f"Shared Enc-Dec: {26_275_892 + 10 * (512 + 1):,} parameters" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_describe_has_no_number_of_parameters_where_the_data_decide_it(tmp_path, capsys):
    table.run(visdial_table5.get_config(), tmp_path / "work", "describe")
    sizes = {line.partition(" (")[0]: line.partition("): ")[2] for line in capsys.readouterr().out.splitlines()[1:]}
    assert sizes["no CCA"] == "0 parameters: none 0"
    assert sizes["CCA-AQ"] == "115,920 parameters: aq 115,920"  # 240 eigenvalues, two views of 240 x 241 numbers
    assert sizes["CCA-AQI"].endswith("- parameters, which the data decide: aqi")
