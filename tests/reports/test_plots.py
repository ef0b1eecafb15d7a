"""Pictures: drawn, whole, and with Chinese that can be read."""

import json
import warnings

import numpy as np
import pytest

from vatex_jax.errors import DataError
from vatex_jax.reports import cells, plots, results, tables


@pytest.fixture(autouse=True)
def _no_glyph_is_missing():
    """matplotlib warns of glyphs it draws as empty boxes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def pixels(path):
    from matplotlib.image import imread

    return imread(path)[..., :3]


def test_chinese_words_are_drawn_as_themselves_and_dollars_are_no_mathematics(tmp_path):
    weights = np.full((1, 2), 0.5)
    pictures = []
    for word in ("蝙蝠", "球棒", "bat"):
        plots.attention_heatmap(weights, [word], ["棒球", "$5 😀"], tmp_path / "a.png", title=r"挥动 $\frac$")
        pictures.append(pixels(tmp_path / "a.png"))
    assert pictures[0].shape == pictures[1].shape
    assert np.abs(pictures[0] - pictures[1]).max() > 0.5  # empty boxes would look the same


def test_weights_are_where_they_belong(tmp_path):
    plots.attention_heatmap(np.array([[0.0, 1.0], [0.0, 0.0]]), ["a", "b"], ["1", "2"], tmp_path / "a.png")
    picture = pixels(tmp_path / "a.png")
    dark = np.argwhere(np.all(np.abs(picture - np.array([8, 48, 107]) / 255) < 0.02, axis=-1))  # the last of "Blues"
    cell = dark[dark[:, 1] < picture.shape[1] * 0.75]  # the colour bar is right of that
    assert cell[:, 0].mean() < picture.shape[0] / 2
    assert len(cell) > 0.02 * picture.shape[0] * picture.shape[1]


@pytest.mark.parametrize(("words", "columns"), [(1, 2), (2, 1), (0, 2)])
def test_labels_must_fit(words, columns, tmp_path):
    with pytest.raises(DataError, match="attention map"):
        plots.attention_heatmap(np.ones((words, 3)), ["a"] * 2, ["b"] * columns, tmp_path / "a.png")
    with pytest.raises(DataError, match="attention map"):
        plots.attention_heatmap(np.ones((0, 3)), [], ["b"] * 3, tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


def test_training_curves_are_read_and_drawn(tmp_path):
    lines = [
        {"step": 1, "wall_time": 0.5, "train/loss": 3.0},
        {"step": 3, "train/loss": 1.0, "validation/bleu4": 9.0, "note": "x"},
        {"step": 2, "train/loss": 2.0},
        {"step": 3, "train/loss": 1.5},
    ]
    half = '{"step": 4, "train/lo'
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + half)
    series = plots.read_series(tmp_path / "metrics.jsonl")
    assert series["train/loss"] == [(1, 3.0), (2, 2.0), (3, 1.5)]
    assert series["validation/bleu4"] == [(3, 9.0)]
    assert "note" not in series
    plots.training_curves(tmp_path / "metrics.jsonl", tmp_path / "figures" / "curves.png")
    plain = pixels(tmp_path / "figures" / "curves.png")
    assert plain.std() > 0.01
    plots.training_curves(tmp_path / "metrics.jsonl", tmp_path / "noted.png", "vatex_sim 1.1.0: SIMULATED")
    noted = pixels(tmp_path / "noted.png")
    grey = [np.all(np.abs(picture[:40] - 0x70 / 255) < 0.02, axis=-1).sum() for picture in (plain, noted)]
    assert grey[1] > grey[0] + 20  # the note at the top


def test_a_line_stands_where_a_stage_ends(tmp_path):
    pictures = []
    for last in (0, 1):
        lines = [{"step": step, "loss": 3.0 - step, "stage": last * (step == 3)} for step in (1, 2, 3)]
        (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        plots.training_curves(tmp_path / "metrics.jsonl", tmp_path / "curves.png")
        pictures.append(pixels(tmp_path / "curves.png"))
    changed = np.argwhere(np.abs(pictures[0] - pictures[1]).max(-1) > 0.3)
    assert len(changed) > 50
    assert np.ptp(changed[:, 1]) < 10  # one upright line


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"step": 1, "loss": 1.0}\n{"step": 2, "lo\n', "line 2"),
        ('{"loss": 1.0}\n', "line 1"),
        ("[]\n", "line 1"),
        ('{"step": 1, "words": 2}\n', "neither"),
        ("", "neither"),
    ],
)
def test_metrics_that_cannot_be_drawn(content, message, tmp_path):
    (tmp_path / "metrics.jsonl").write_text(content)
    with pytest.raises(DataError, match=message):
        plots.training_curves(tmp_path / "metrics.jsonl", tmp_path / "curves.png")
    assert not (tmp_path / "curves.png").exists()


def test_a_table_is_drawn_with_gaps_where_nothing_was_run(tmp_path, make_result):
    table = tables.TABLES["vatex_table5"]
    for seed in range(2):
        results.write(
            tmp_path / str(seed) / "results.json",
            make_result(variant="none", seed=seed, metrics={"bleu4": 20.0 + seed}),
        )
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    plots.table_bars(table, block, tmp_path / "bars.png")
    picture = pixels(tmp_path / "bars.png")
    blue = np.all(np.abs(picture - np.array([0, 0x72, 0xB2]) / 255) < 0.02, axis=-1)
    middle = picture.shape[1] // 2
    # One bar of ours; four of the paper's.
    assert 0 < blue[:, :middle].sum() < blue[:, middle:].sum()
