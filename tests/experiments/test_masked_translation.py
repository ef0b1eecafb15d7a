"""Masked translation from end to end on the tiny world: what is masked, what is measured, what is refused."""

import json
import re
from pathlib import Path

import ml_collections
import numpy as np
import pytest

from configs import masked_vmt
from configs.tables import vatex_table6
from tfds_builders.build import build
from vatex_jax.data.sources import open_source
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.experiments import masked_translation, table
from vatex_jax.experiments.masked_data import align_masks, load_masked_data
from vatex_jax.reports import cells, masked_sheet, masking_curves, results
from vatex_jax.reports.tables import TABLES, main_grid
from vatex_jax.text.vocabulary import MASK


def tiny(config: ml_collections.ConfigDict) -> ml_collections.ConfigDict:
    config.data.name = "vatex_sim/tiny"
    config.data.min_count = 1
    config.data.shapes = 1
    config.train.epochs = 1
    config.train.batch_size = 40
    config.train.warmup_steps = 0
    config.decode.batch_size = 40
    config.decode.max_words = 12
    config.decode.beam = 2
    config.decode.n_best = 1
    config.eval.bootstrap_samples = 20
    return config


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("masked")
        patch.setenv("VATEX_JAX_DATA", str(folder / "data"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="module")
def finished(environment):
    config = tiny(masked_vmt.get_config())
    config.mask.rate = 1.0
    return environment / "run", masked_translation.run(config, environment / "run", "train_and_evaluate")


def lines_of(workdir: Path) -> list[dict]:
    return [json.loads(line) for line in (workdir / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]


def test_metrics_have_intervals_and_say_what_was_masked(finished):
    workdir, result = finished
    assert results.read(workdir / "results.json")["metrics"] == result["metrics"]
    metrics = result["metrics"]
    assert metrics["masked"] == 100
    for name in ("bleu4", "noun_recovery", "verb_recovery", "masked_recovery"):
        assert metrics[f"{name}_low"] <= metrics[name] <= metrics[f"{name}_high"]
    assert not {"oracle_bleu4", "ceiling_bleu4"} & metrics.keys()  # those are of whole sentences
    assert metrics["aligned"] > 80
    signature = result["signature"]
    assert signature["masks"].startswith("noun:1|en:spacy-3.")
    assert signature["recovery"].endswith("zh:jieba.posseg-0.42.1")
    assert signature["alignment"] == "world"
    assert metrics["aligner_precision"] != metrics["aligned"]
    assert 50 < metrics["aligner_coverage"] <= 100
    assert np.load(workdir / "noun_recovery_statistics.npy").shape == (40, 2)


def test_predictions_show_the_sentence_with_and_without_what_is_masked(finished):
    hidden = 0
    for line in lines_of(finished[0]):
        masked = line["masked"].split()
        assert masked.count("[M]") == len(line["hidden"])
        assert not {word.lower() for word in line["hidden"]} & set(masked)
        hidden += len(line["hidden"])
    assert hidden > 80


def test_recovery_equals_a_recount_from_the_predictions(finished):
    workdir, result = finished
    counts = np.load(workdir / "noun_recovery_statistics.npy")
    assert result["metrics"]["noun_recovery"] == pytest.approx(100 * counts[:, 0].sum() / counts[:, 1].sum())
    from vatex_jax.text.tagging import open_tagger
    from vatex_jax.text.tokenization import make_tokenizer

    zh, tagger = make_tokenizer("zh"), open_tagger("zh", cache=None)
    for line, (found, total) in zip(lines_of(workdir), counts.tolist(), strict=True):
        (reference,) = tagger.tag([zh.tokenize(line["reference"])])
        left, ours = zh.tokenize(line["n_best"][0]["text"]), 0
        nouns = [word.text for word in reference if word.kind == "noun"]
        for noun in nouns:
            if noun in left:
                left.remove(noun)
                ours += 1
        assert (ours, len(nouns)) == (found, total)


def test_the_model_is_given_masks_in_every_split_and_vocabularies_are_of_whole_sentences(environment):
    config = tiny(masked_vmt.get_config())
    config.mask.rate, config.mask.kind = 1.0, "verb"
    data = load_masked_data(config, environment / "load", lambda line: None)
    for split, examples in data.examples.items():
        for ids, places, words in zip(examples.source, data.masks[split], data.words[split], strict=True):
            assert [int(place) for place in np.flatnonzero(ids == MASK)] == places
            assert places == [place for place, word in enumerate(words) if word.kind == "verb"]
    config.mask.rate = 0.0
    whole = load_masked_data(config, environment / "whole", lambda line: None)
    assert whole.vocabularies["en"].words == data.vocabularies["en"].words
    assert not any(MASK in ids for ids in whole.examples["train"].source)


def test_the_world_says_what_masked_words_became_and_an_aligner_where_there_is_none(environment, monkeypatch):
    config = tiny(masked_vmt.get_config())
    config.mask.rate = 1.0
    data = load_masked_data(config, environment / "align", lambda line: None)
    world = align_masks(data)
    assert world.by == "world"
    tokenize = data.tokenizers["zh"].tokenize
    for wanted, (_, reference) in zip(world.wanted, data.text["test"].captions, strict=True):
        tokens = tokenize(reference)
        assert all(set(word) <= set(tokens) for word in wanted)
    assert 50 < world.precision <= 100
    assert 50 < world.coverage <= 100
    assert world.aligned < 100  # the world says nothing of words of its templates
    monkeypatch.delattr(type(data.source.builder), "aligned_words")
    learned = align_masks(data)
    assert (learned.by, learned.precision) == ("dice", None)
    assert learned.aligned > 50


def test_the_summary_and_pictures_are_there(finished, capsys):
    workdir, _ = finished
    config = tiny(masked_vmt.get_config())
    config.mask.rate = 1.0
    masked_translation.run(config, workdir, "evaluate")
    said = capsys.readouterr().out
    assert "nouns masked: 100.0% (1 wanted)" in said
    assert re.search(r"masked words recovered, % +\d", said)
    assert "masked     " in said
    assert any(path.name.startswith("attention_video") for path in (workdir / "figures").iterdir())


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("direction", "zh2en", "what is masked is English"), ("mask.kind", "word", "mask.kind is 'word'"),
     ("mask.rate", 2.0, "mask.rate is 2.0")],
)  # fmt: skip
def test_what_cannot_be_masked_is_refused_before_a_folder_is_made(environment, field, value, message):
    config = masked_vmt.get_config()
    config.update_from_flattened_dict({field: value})
    with pytest.raises(ConfigError, match=message):
        masked_translation.run(config, environment / "refused", "train_and_evaluate")
    assert not (environment / "refused").exists()


def tiny_table() -> ml_collections.ConfigDict:
    config = vatex_table6.get_config()
    tiny(config.run)
    config.seeds = (0, 1)
    kept = ("none-whole", "attention-whole", "none-noun100", "attention-noun100", "attention-verb100")
    config.rows = ml_collections.ConfigDict({name: config.rows[name] for name in kept})
    return config


@pytest.mark.slow
def test_the_table_has_one_run_for_nouns_and_verbs_where_none_is_masked(environment, monkeypatch, capsys):
    monkeypatch.chdir(environment)
    table.run(tiny_table(), environment / "table", "train_and_evaluate")
    kept = environment / "results" / "vatex_table6"
    runs = cells.load_runs([kept])
    assert len(runs) == 10
    (block,) = cells.blocks(TABLES["vatex_table6"], runs)
    header, rows = main_grid(TABLES["vatex_table6"], block)
    by_column = {name: [row[place] for row in rows] for place, name in enumerate(header)}
    assert by_column["BLEU-4, nouns 0%: ours"] == by_column["BLEU-4, verbs 0%: ours"]
    assert by_column["BLEU-4, nouns 100%: paper (VaTeX)"] == ["4.10", "14.30", "-"]
    assert by_column["accuracy, verbs 0%: paper (VaTeX)"] == ["65.10", "70.40", "-"]
    assert not [name for name in header if "25%" in name]
    assert by_column["accuracy, verbs 100%: ours"][0] == "missing"
    assert (environment / "table" / "figures" / "masking.png").stat().st_size > 10_000
    assert (environment / "table" / "figures" / "masked-seed0.png").stat().st_size > 10_000
    said = capsys.readouterr().out
    assert "accuracy, nouns 100%" in said
    table.run(tiny_table(), environment / "table", "train_and_evaluate")
    assert "10 are in" in capsys.readouterr().out


def test_planned_runs_of_the_table():
    names = [name for name, _ in table.planned(vatex_table6.get_config())]
    assert len(names) == len(set(names)) == 75
    assert "vatex_sim/shuffled-verb50-seed4" in names
    runs = dict(table.planned(vatex_table6.get_config("all")))
    assert len(runs) == 135
    one = runs["vatex_sim/none-noun25-seed3"]
    assert (one.variant, one.seed, one.mask.kind, one.mask.rate, one.model.video) == ("none", 3, "noun", 0.25, "none")
    paper = vatex_table6.get_config("paper")
    assert paper.run.data.name == "vatex/i3d"
    assert paper.run.train.eval_every == 0
    for _, one in table.planned(vatex_table6.get_config()):
        masked_translation.MaskedTranslationExperiment().check(one)


def result_of(variant, kind, rate, seed, bleu):
    dataset = {"name": "w", "version": "1", "fingerprint": "f", "split": "test", "simulated": True, "stand_in": False}
    return {
        "experiment": "masked_translation",
        "variant": variant,
        "seed": seed,
        "config": {"mask": {"kind": kind, "rate": rate}},
        "metrics": {"bleu4": bleu, "noun_recovery": bleu, "verb_recovery": bleu},
        "dataset": dataset,
    }


def test_curves_share_the_runs_without_masks(tmp_path):
    found = [result_of("none", "noun", 0.0, s, 50.0 + s) for s in (0, 1)] + [
        result_of("none", "noun", 1.0, 0, 10.0), result_of("none", "verb", 1.0, 0, 20.0),
    ]  # fmt: skip
    assert masking_curves.series(found, "noun", "bleu4") == {"none": {0.0: [50, 51], 1.0: [10]}}
    assert masking_curves.series(found, "verb", "bleu4") == {"none": {0.0: [50, 51], 1.0: [20]}}
    masking_curves.draw_runs(found, tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 10_000
    with pytest.raises(DataError, match="on one data set"):
        masking_curves.draw_runs([], tmp_path / "y.png")


def test_curves_and_sheet_as_commands(finished, environment, tmp_path, capsys):
    workdir, _ = finished
    assert masking_curves.main([str(workdir), f"--out={tmp_path / 'c.png'}"]) == 0
    assert masked_sheet.main([str(workdir), f"--out={tmp_path / 's.png'}", "--captions=3"]) == 0
    assert (tmp_path / "s.png").stat().st_size > 10_000
    assert masked_sheet.main([str(tmp_path), f"--out={tmp_path / 's.png'}"]) == 2
    assert "cannot be read" in capsys.readouterr().err
    (tmp_path / "predictions.jsonl").write_text('{"video_id": "a"}\n', encoding="utf-8")
    assert masked_sheet.main([str(tmp_path), f"--out={tmp_path / 's.png'}"]) == 2
    assert "not the predictions of a run of masked translation" in capsys.readouterr().err


@pytest.mark.real
def test_real_captions_are_masked_aligned_and_scored(real_data, environment):
    build("vatex/none", manual_dir=real_data / "flickr8kcn_as_vatex", report=lambda line: None)
    config = tiny(masked_vmt.get_config("none"))
    config.data.name = "vatex/none"
    config.data.min_count = 5
    config.train.max_steps = 3
    config.decode.beam = 1
    result = masked_translation.run(config, environment / "real", "train_and_evaluate")
    assert abs(result["metrics"]["masked"] - 50) < 0.5 + 1.0  # 5,000 captions of the test split
    assert result["signature"]["alignment"] == "dice"
    assert result["metrics"]["aligned"] > 80
    assert open_source("vatex/none").name == result["dataset"]["name"]
