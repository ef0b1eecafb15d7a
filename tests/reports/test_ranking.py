"""Ranking of VisDial's candidates as a summary, a table and a picture."""

import dataclasses

import numpy as np
import pytest

from vatex_jax.reports import cells, plots, published, results, tables
from vatex_jax.reports.summary import ranking_summary

METRICS = {
    "mr": 17.3, "mr_low": 16.76, "mr_high": 17.85, "r@1": 8.5, "r@1_low": 7.6, "r@1_high": 9.5, "r@5": 27.9,
    "r@5_low": 26.2, "r@5_high": 29.4, "r@10": 46.6, "r@10_low": 44.9, "r@10_high": 48.4, "mrr": 0.19781,
    "mrr_low": 0.1877, "mrr_high": 0.2074, "questions": 3000.0, "tied": 0.0, "size": 15.6,
}  # fmt: skip


@pytest.fixture
def make_ranked(make_result):
    """A function from a variant, its metrics and the data set's name to a result."""

    def make(variant="aq", name="visdial_sim/default", **changes):
        result = make_result(
            experiment="cca",
            variant=variant,
            metrics=METRICS | changes,
            signature={"vectors": "ppmi-svd", "ties": "expectation over their orders"},
            dataset={"name": name, "simulated": "_sim" in name},
        )
        result["config"] = {"seed": 0, "data": {"name": name.removesuffix("/default")}}
        return result

    return make


def test_the_summary_has_figures_intervals_and_the_papers_beside(make_ranked):
    example = {"question": "is it\nsunny", "answer": "yes", "rank": 2.5, "best": [{"answer": "no", "score": 1.0}],
               "generations": ["yes", ""]}  # fmt: skip
    lines = ranking_summary(make_ranked(), [example], "runs/cca").splitlines()
    assert lines[0] == "cca aq on visdial_sim/default 1.0.0, test split, 3,000 questions"
    assert lines[1].startswith("SIMULATED")
    fields = {line.split("  ")[0]: line.split() for line in lines if line}
    assert fields["MR"][1:] == ["17.30", "[16.76,", "17.85]"]
    assert fields["MRR"][1:] == ["0.1978", "[0.1877,", "0.2074]"]
    assert "NDCG" not in fields
    assert fields["number of these answers"][-2:] == ["15.60", "12.30"]
    assert fields["annotated, no candidate of relevance 1, %"][-2:] == ["-", "18.15"]
    assert "  is it sunny" in lines
    assert "    ground truth  yes (rank 2.5)" in lines
    assert "    generated     yes, " in lines
    assert not any("share their score" in line for line in lines)
    assert "4 ground truths share their score" in ranking_summary(make_ranked(tied=4.0), [], "runs/cca")


def write(folder, result):
    results.write(folder / result["variant"] / "results.json", result)


def test_the_table_shows_a_runs_own_interval_and_four_places_where_they_matter(tmp_path, make_ranked):
    write(tmp_path, make_ranked("aq"))
    write(tmp_path, make_ranked("none", mr=40.0))
    table = tables.TABLES["visdial_table5"]
    small = dataclasses.replace(table, columns=table.columns[:-1])  # these results hold no NDCG
    (block,) = cells.blocks(small, cells.load_runs([tmp_path]))
    header, rows = tables.main_grid(small, block)
    by_label = {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    assert by_label["CCA-AQ"]["MR: ours"] == "17.30 [16.76, 17.85]"
    assert by_label["CCA-AQ"]["MR: paper (VisDial)"] == "17.07"
    assert by_label["CCA-AQ"]["MRR: ours"] == "0.1978 [0.1877, 0.2074]"
    assert by_label["CCA-AQ"]["MRR: paper (VisDial)"] == "0.2845"
    assert by_label["no CCA"]["MR: paper (VisDial)"] == "-"  # the paper has it on v0.9 alone
    assert by_label["NN-AQ"]["MR: ours"] == "missing"
    _, gaps = tables.gap_grid(small, block)
    assert ["CCA-AQ", "MR", "-22.70"] in [gap[:3] for gap in gaps]
    assert ["CCA-AQ", "MRR", "+0.0000"] in [gap[:3] for gap in gaps]


def test_versions_of_visdial_have_tables_of_their_own(tmp_path, make_ranked):
    write(tmp_path, make_ranked("none", name="visdial/v0.9"))
    runs = cells.load_runs([tmp_path])
    assert cells.blocks(tables.TABLES["visdial_table5"], runs) == []
    table = tables.TABLES["visdial_table5_v09"]
    (block,) = cells.blocks(table, runs)
    row = next(row for row in table.rows if row.label == "no CCA")
    assert len(block.cells["no CCA", "MR"]) == 1
    assert [table.paper(row, column) for column in table.columns] == [57.18, 4.13, 9.67, 13.89, 0.0837]
    assert "v0.9" in tables.render(table, [block], "text")


def test_published_ranks_are_ranks():
    entry = published.tables()["visdial_table5"]
    for column in entry["columns"]:
        results.check_metric_name(column)
    for row in entry["rows"].values():
        mr, r1, r5, r10, mrr, _ = row["values"]
        assert 1 < mr < 100
        assert r1 < r5 < r10
        assert r1 / 100 < mrr < 1


def test_the_picture_of_ranks_shows_the_shares(tmp_path):
    from matplotlib.image import imread

    shares = np.zeros(100)
    shares[:20] = 0.05
    plots.rank_histogram(shares, tmp_path / "a.png", "visdial_sim: SIMULATED")
    plots.rank_histogram(shares[::-1].copy(), tmp_path / "b.png")
    blue = []
    for name in ("a.png", "b.png"):
        picture = imread(tmp_path / name)[..., :3]
        bars = np.argwhere(np.all(np.abs(picture - np.array([0, 114, 178]) / 255) < 0.02, axis=-1))
        blue.append(bars[:, 1].mean() / picture.shape[1])
    assert blue[0] < 0.35
    assert blue[1] > 0.75
