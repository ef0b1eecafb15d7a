"""Configurations of earlier versions: what their missing fields stand for, and that kept results stay valid."""

import hashlib
import importlib
import json
from pathlib import Path

import pytest

from configs import captioning, masked_vmt, vmt
from vatex_jax.errors import ConfigError
from vatex_jax.experiments import table
from vatex_jax.experiments.trained import config_digest
from vatex_jax.experiments.workdir import flat, open_workdir, read_config
from vatex_jax.reports import earlier, results

ROOT = Path(__file__).resolve().parents[2]


def without(config, field):
    """The configuration as a version before `field` wrote it, read back from JSON."""
    written = json.loads(json.dumps(config.to_dict()))
    section, _, name = field.rpartition(".")
    del (written[section] if section else written)[name]
    return written


@pytest.mark.parametrize(
    ("config", "field", "value"),
    [
        (vmt.get_config("average"), "model.scale_average", False),  # it was not scaled
        (vmt.get_config("attention"), "model.scale_average", True),  # and has no mean
        (masked_vmt.get_config("average"), "model.scale_average", False),
        (captioning.get_config("base_en"), "model.scale_embedding", True),  # tied embeddings were scaled
        (captioning.get_config("base_en_untied"), "model.scale_embedding", False),  # untied ones were not
    ],
)
def test_a_missing_field_stands_for_the_behaviour_of_its_time(config, field, value):
    written = without(config, field)
    completed = earlier.completed(written)
    section, _, name = field.rpartition(".")
    assert completed[section][name] is value
    assert flat(completed).keys() == flat(config.to_dict()).keys()
    assert without(config, field) == written, "the argument stays as it was"
    assert earlier.without_earlier(completed) == earlier.without_earlier(written)


def test_a_field_is_not_added_where_its_section_is_missing():
    assert earlier.completed({"experiment": "translation", "seed": 0}) == {"experiment": "translation", "seed": 0}
    assert earlier.completed({"experiment": "corpus", "model": {}}) == {"experiment": "corpus", "model": {}}


@pytest.mark.parametrize("variant", ["attention", "average"])
def test_a_checkpoint_of_before_has_the_digest_that_was_written_then(variant):
    """By the rule of version 0.1: a hash over all fields but those that evaluation may change."""
    written = without(vmt.get_config(variant), "model.scale_average")
    free = ("decode", "eval", "data.test_split", "data.data_dir")
    fields = {name: value for name, value in flat(written).items() if not {name, name.partition(".")[0]} & {*free}}
    then = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]
    now = vmt.get_config(variant)
    assert (config_digest(now.to_dict()) == then) is (variant != "average")  # which is another model now
    assert config_digest(earlier.completed(written)) == then


def test_a_run_of_before_is_opened_if_it_behaves_as_now_and_else_says_how(tmp_path):
    for variant in ("attention", "average"):
        folder = tmp_path / variant
        folder.mkdir()
        written = without(vmt.get_config(variant), "model.scale_average")
        (folder / "config.json").write_text(json.dumps(written), encoding="utf-8")
        (folder / "metrics.jsonl").write_text("{}\n", encoding="utf-8")
    open_workdir(tmp_path / "attention", vmt.get_config("attention"))
    with pytest.raises(Exception, match=r"scale_average: False there, True now(?s:.*)--config\.FIELD=VALUE"):
        open_workdir(tmp_path / "average", vmt.get_config("average"))
    as_it_was = vmt.get_config("average")
    as_it_was.model.scale_average = False
    open_workdir(tmp_path / "average", as_it_was)
    assert read_config(tmp_path / "average" / "config.json")["model"]["scale_average"] is False


def kept_tables():
    """(table, world's folder, data set, runs) of all results that the repository keeps."""
    for folder in sorted((ROOT / "results").glob("*/*")):
        name = folder.name.replace("_sim-", "_sim/")
        yield pytest.param(folder, name, id=f"{folder.parent.name}/{folder.name}")


@pytest.mark.parametrize(("folder", "data"), [*kept_tables()])
def test_every_kept_result_is_found_done(folder, data):
    """A field that is added must not make kept results "another configuration"."""
    planned = {}
    for path in sorted((ROOT / "configs" / "tables").glob("*.py")):
        config = importlib.import_module(f"configs.tables.{path.stem}").get_config()
        if config.get("results_of", config.table) == folder.parent.name:
            config.run.data.name = data
            planned |= dict(table.planned(config))
    kept = sorted(path.parent for path in folder.rglob(results.FILE_NAME))
    assert kept
    for run in kept:
        assert table.is_done(run, planned[f"{folder.name}/{run.name}"]), run


def test_a_kept_average_that_was_not_scaled_is_another_configuration(tmp_path):
    kept = ROOT / "results" / "vatex_table5" / "vatex_sim" / "en2zh-none-seed0" / results.FILE_NAME
    result = json.loads(kept.read_text(encoding="utf-8"))
    result["variant"] = result["config"]["variant"] = result["config"]["model"]["video"] = "average"
    (tmp_path / results.FILE_NAME).write_text(json.dumps(result), encoding="utf-8")
    config = importlib.import_module("configs.tables.vatex_table5").get_config()
    now = dict(table.planned(config))["vatex_sim/en2zh-average-seed0"]
    with pytest.raises(ConfigError, match="scale_average: False there, True now"):
        table.is_done(tmp_path, now)
