"""Tables from folders of results: every figure worked out again by other means."""

import csv
import io
import math
import re

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.metrics import coco
from vatex_jax.metrics.significance import paired_bootstrap
from vatex_jax.reports import cells, results, tables
from vatex_jax.reports.comparisons import compare
from vatex_jax.reports.item_statistics import BLEU

TABLE = tables.TABLES["vatex_table5"]
REAL = {"name": "vatex", "simulated": False, "fingerprint": "beef"}


@pytest.fixture
def add_run(tmp_path, make_result):
    """A function that puts a run under tmp_path and returns its folder."""

    def add(folder, variant="none", seed=0, bleu4=20.0, direction="en2zh", statistics=None, **changes):
        changes["config"] = {"direction": direction, **changes.get("config", {})}
        path = tmp_path / folder
        results.write(
            path / "results.json", make_result(variant=variant, seed=seed, metrics={"bleu4": bleu4}, **changes)
        )
        if statistics is not None:
            np.save(path / BLEU.file, statistics)
        return path

    return add


@pytest.fixture
def found(tmp_path):
    """A function that reads the blocks under tmp_path."""
    return lambda: cells.blocks(TABLE, cells.load_runs([tmp_path]))


def counts(seed, sentences=30):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(8, 15, size=sentences)
    totals = np.stack([lengths - n for n in range(4)], axis=1)
    matched = generator.binomial(totals, [0.8, 0.6, 0.5, 0.4])
    return np.concatenate([lengths[:, None], lengths[:, None], matched, totals], axis=1)


def test_a_cell_is_mean_and_interval_over_seeds_with_the_paper_beside_it(add_run, found):
    for seed, score in enumerate((20.0, 21.0, 22.0)):
        add_run(f"deep/er/none-{seed}", seed=seed, bleu4=score)
    add_run("attention", variant="attention", bleu4=30.0)
    (block,) = found()
    header, rows = tables.main_grid(TABLE, block)
    assert header[1:3] == ["en2zh: ours", "en2zh: paper (VaTeX)"]
    by_label = {row[0]: row[1:] for row in rows}
    # t_2 at 0.975 is 4.3027, the deviation 1: 4.3027 / sqrt(3) = 2.484.
    assert by_label["NMT without video"] == ["21.00 +- 2.48 (3)", "26.85", "missing", "24.31"]
    assert by_label["+ LSTM video, attention (VMT)"] == ["30.00 (1)", "29.12", "missing", "26.42"]
    assert by_label["+ LSTM video, no attention"] == ["missing", "27.43", "missing", "24.76"]
    assert by_label["shuffled video (control)"] == ["missing", "-", "missing", "-"]


def test_directions_and_other_experiments_do_not_mix(add_run, found):
    add_run("a", direction="zh2en", bleu4=11.0)
    add_run("b", experiment="captioning", bleu4=99.0)
    add_run("c", variant="unheard-of", bleu4=99.0)
    (block,) = found()
    rows = tables.main_grid(TABLE, block)[1]
    assert rows[0] == ["NMT without video", "missing", "26.85", "11.00 (1)", "24.31"]
    assert all(row[1] == row[3] == "missing" for row in rows[1:])


def test_each_data_set_has_its_own_block_and_says_what_it_is(add_run, found):
    add_run("a", bleu4=50.0)
    add_run("b", bleu4=26.0, dataset=REAL)
    add_run("c", bleu4=13.0, dataset={**REAL, "stand_in": True})
    add_run("d", bleu4=51.0, dataset={"fingerprint": "another world"})
    text = tables.render(TABLE, found(), "text")
    parts = text.split("Data: ")[1:]
    assert len(parts) == 4
    for part, says, own in zip(
        parts, ("real data", "STAND-IN", "SIMULATED", "SIMULATED"), ("26.00", "13.00", "51.00", "50.00"), strict=True
    ):
        assert says in part.splitlines()[0]
        assert [score for score in ("26.00", "13.00", "50.00", "51.00") if score in part] == [own]


def test_differences_come_with_both_tests(add_run, found):
    base = {seed: counts(seed) for seed in range(3)}
    better = {seed: counts(seed + 10) for seed in range(3)}
    for seed in range(3):
        add_run(f"n{seed}", seed=seed, bleu4=20.0 + seed, statistics=base[seed])
        add_run(f"a{seed}", "attention", seed, 24.0 + 2 * seed, statistics=better[seed])
    add_run("a3", "attention", 3, 90.0, statistics=counts(9))  # no partner: no part of the comparison
    (block,) = found()
    runs = [block.cells[row, "en2zh"] for row in ("+ LSTM video, attention (VMT)", "NMT without video")]
    compared = compare(*runs)
    oracle = paired_bootstrap(np.stack([*better.values()]), np.stack([*base.values()]))
    assert compared["seeds"] == 3
    assert compared["difference"] == pytest.approx(5.0)
    assert {name: compared[f"bootstrap_{name}"] for name in oracle} == oracle
    header, (row,) = tables.gap_grid(TABLE, block)
    named = dict(zip(header, row, strict=True))
    assert named["difference"] == "+5.00"
    assert named["from"] == "NMT without video"
    assert named["95% over seeds"] == "[+2.52, +7.48]"
    assert named["p (bootstrap)"] == f"{oracle['p']:.3f}"
    assert named["seeds"] == "3"
    assert named["paper (VaTeX)"] == "+2.27"


def test_without_statistics_or_with_one_seed_a_test_is_left_out(add_run, found):
    add_run("n0", seed=0, bleu4=20.0, statistics=counts(0))
    add_run("a0", "attention", 0, 25.0)
    (block,) = found()
    header, (row,) = tables.gap_grid(TABLE, block)
    named = dict(zip(header, row, strict=True))
    assert named["difference"] == "+5.00"
    assert named.pop("% of it") == "125.0"
    assert [named[name] for name in header[4:9] if name in named] == ["-"] * 4
    text = tables.render(TABLE, [block], "text")
    told = text.partition('Difference from "NMT without video"\n')[2].strip().split("\n\n")[0].splitlines()
    assert told[0].split() == ["column", "difference", "%", "of", "it", "paper", "(VaTeX)"]
    assert told[-1].split()[-4:] == ["en2zh", "+5.00", "125.0", "+2.27"]
    assert compare([], block.cells["NMT without video", "en2zh"]) is None


def test_a_copy_counts_once_and_a_contradiction_is_an_error(add_run, found):
    first, second = add_run("one"), add_run("two")
    (block,) = found()
    assert [run.folder for run in block.cells["NMT without video", "en2zh"]] == [first.resolve()]
    add_run("two", bleu4=21.0)
    with pytest.raises(DataError, match=f"{second}.*two different results of seed 0"):
        found()


def test_one_cell_cannot_mix_configurations(add_run, found):
    add_run("one", seed=0, config={"optimizer": {"rate": 0.1, "clip": 1.0}})
    add_run("two", seed=1, config={"optimizer": {"rate": 0.2, "clip": 1.0}})
    with pytest.raises(DataError, match=r"differ in optimizer\.rate\."):
        found()


def test_where_the_data_lay_makes_no_other_configuration(add_run, found):
    add_run("one", seed=0, config={"data": {"data_dir": "", "chinese": "words"}})
    add_run("two", seed=1, config={"data": {"data_dir": "/elsewhere", "chinese": "words"}})
    (block,) = found()
    assert [run.seed for run in block.cells["NMT without video", "en2zh"]] == [0, 1]
    add_run("three", seed=2, config={"data": {"data_dir": "", "chinese": "characters"}})
    with pytest.raises(DataError, match=r"differ in data\.chinese\."):
        found()


def test_a_column_cannot_mix_ways_of_scoring(add_run, found, make_result):
    add_run("one")
    add_run("two", "attention", signature={**make_result()["signature"], "tokeniser": "zh:char"})
    with pytest.raises(DataError, match="counted in different ways"):
        found()


def test_the_signature_is_printed(add_run, found):
    add_run("one")
    assert re.search(r"Signature of en2zh: .*tok:zh:jieba-0.42.1\|smooth:none", tables.render(TABLE, found(), "text"))


def test_csv_has_a_line_a_cell_in_full_precision(add_run, found):
    add_run("one", bleu4=20.123456789)
    lines = list(csv.DictReader(io.StringIO(tables.render(TABLE, found(), "csv"))))
    assert len(lines) == 10
    assert float(lines[0]["mean"]) == 20.123456789
    assert (lines[0]["half_width_95"], lines[0]["seeds"], lines[0]["paper"]) == ("", "1", "26.85")
    assert (lines[1]["mean"], lines[1]["column"]) == ("", "zh2en")
    assert lines[0]["parameters"] == ""  # what the other direction's model has is not known
    add_run("two", bleu4=20.0, direction="zh2en")
    lines = list(csv.DictReader(io.StringIO(tables.render(TABLE, found(), "csv"))))
    assert {line["parameters"] for line in lines if line["row"] == "NMT without video"} == {"47000000"}


def test_markdown_holds_the_same_cells(add_run, found):
    add_run("one", bleu4=20.0)
    assert "| NMT without video | 20.00 (1) | 26.85 | missing | 24.31 |" in tables.render(TABLE, found(), "markdown")


def test_the_command_prints_and_exits_with_0(add_run, tmp_path, capsys):
    add_run("one", bleu4=20.0)
    assert tables.main([str(tmp_path), str(tmp_path / "one"), "--table=vatex_table5"]) == 0
    assert "20.00 (1)" in capsys.readouterr().out


def test_the_command_exits_with_2_and_says_what_to_do(tmp_path, capsys):
    assert tables.main([str(tmp_path / "nowhere"), "--table=vatex_table5"]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert tables.main([str(tmp_path), "--table=vatex_table5"]) == 2
    assert "configs/tables/vatex_table5.py" in capsys.readouterr().err
    (tmp_path / "results.json").write_text("{")
    assert tables.main([str(tmp_path), "--table=vatex_table5"]) == 2
    assert "results.json" in capsys.readouterr().err


def test_a_run_without_the_metric_is_named(add_run, found, make_result):
    folder = add_run("one")
    results.write(folder / "results.json", make_result(variant="none", metrics={"chrf": 3.0}))
    (block,) = found()
    with pytest.raises(DataError, match=r"'bleu4' is missing"):
        tables.render(TABLE, [block], "text")


def test_nothing_run_has_no_mean(found):
    assert found() == []
    assert all(math.isnan(value) for value in cells.mean_and_half_width([], "bleu4"))


def test_a_row_s_share_of_the_baseline_is_taken_seed_by_seed(add_run, found):
    """24 of 20 and 33 of 30 are 120% and 110%: 115, and half of t(0.975, 1) * sqrt(50 / 2)... = 12.706 * 5 = 63.5."""
    for seed, none, attention in ((0, 20.0, 24.0), (1, 30.0, 33.0)):
        add_run(f"n{seed}", seed=seed, bleu4=none)
        add_run(f"a{seed}", "attention", seed, attention)
    (block,) = found()
    header, (row,) = tables.gap_grid(TABLE, block)
    assert dict(zip(header, row, strict=True))["% of it"] == "115.0 +- 63.5"


def test_table4_puts_two_models_into_a_row_and_counts_both(make_result, tmp_path):
    table = tables.TABLES["vatex_table4"]
    for variant, languages, count in (
        ("base_en", ["en"], 19_000_000), ("base_zh", ["zh"], 20_700_000), ("shared_enc", ["en", "zh"], 34_900_000),
    ):  # fmt: skip
        metrics = {
            f"{language}/{name}": 30.0 + len(languages)
            for language in languages
            for name in ("bleu4", "meteor", "rouge_l", "cider")
        }
        signed = {f"{name}/{key}": text for name in languages for key, text in coco.signature(name).items()}
        signed["decoding"] = "beam:5"
        result = make_result(
            experiment="captioning", variant=variant, parameters=count, metrics=metrics, signature=signed
        )
        result["config"] = {"seed": 0, "model": {"languages": languages}}
        (tmp_path / variant).mkdir()
        results.write(tmp_path / variant / "results.json", result)
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    header, rows = tables.main_grid(table, block)
    by_label = {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    base, shared = by_label["Base (two models)"], by_label["Shared Enc"]
    assert base["parameters: ours"] == "39,700,000"
    assert base["parameters: paper (VaTeX)"] == "39.7M"
    assert shared["parameters: ours"] == "34,900,000 (-12.1%)"  # 4.8 of 39.7 million saved
    assert by_label["Base w/o WT (two models)"]["parameters: paper (VaTeX)"] == "52.5M (+32.2%)"
    assert base["en CIDEr: ours"] == base["zh CIDEr: ours"] == "31.00 (1)"
    assert base["zh CIDEr: paper (VaTeX)"] == "34.70"
    assert shared["en BLEU-4: ours"] == "32.00 (1)"
    assert by_label["Shared Enc-Dec"]["en CIDEr: ours"] == "missing"
    text = tables.render(table, [block], "text")
    assert "103.2" in text, "Shared Enc in percent of Base"
    assert max(map(len, text.splitlines())) < 220

    (tmp_path / "base_zh" / "results.json").unlink()
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    assert cells.parameters(block, table.rows[1]) is None  # not Base's English half alone
    assert cells.parameters(block, table.rows[2]) == 34_900_000


def test_a_corpus_is_counted_once_and_has_no_seeds(make_result, tmp_path):
    table = tables.TABLES["vatex_table3"]
    result = make_result(experiment="corpus", variant="", metrics={"en/length": 10.5}, signature={})
    results.write(tmp_path / "results.json", result)
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    text = tables.render(table, [block], "text")
    assert "number of seeds" not in text
    assert "10.50" in text
    assert "(1)" not in text
