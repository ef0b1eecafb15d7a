"""Ranking of VisDial's candidates as a summary, a table and a picture."""

import numpy as np
import pytest

from vatex_jax.reports import cells, plots, published, results, tables
from vatex_jax.reports.summary import ranking_summary

METRICS = {
    "mr": 17.3, "mr_low": 16.76, "mr_high": 17.85, "r@1": 8.5, "r@1_low": 7.6, "r@1_high": 9.5, "r@5": 27.9,
    "r@5_low": 26.2, "r@5_high": 29.4, "r@10": 46.6, "r@10_low": 44.9, "r@10_high": 48.4, "mrr": 0.19781,
    "mrr_low": 0.1877, "mrr_high": 0.2074, "questions": 3000.0, "tied": 0.0, "size": 15.6,
    "questions/out_of_vocabulary": 1.25, "answers/out_of_vocabulary": 5.0,
}  # fmt: skip


@pytest.fixture
def make_ranked(make_result):
    """A function from a variant, its metrics and the data set's name to a result."""

    def make(variant="aq", name="visdial_sim/default", vectors="learned", images="resnet34", **changes):
        result = make_result(
            experiment="cca",
            variant=variant,
            metrics=METRICS | changes,
            signature={"model/vectors": "ppmi-svd", "ties": "expectation over their orders"},
            dataset={"name": name, "simulated": "_sim" in name},
        )
        result["config"] = {
            "seed": 0,
            "data": {"name": name.removesuffix("/default"), "image_features": images},
            "vectors": {"source": vectors},
        }
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
    assert not any("annotated, no candidate" in line for line in lines)  # nothing is annotated here
    assert "vectors     ppmi-svd" in lines
    assert "Words without a vector: 1.2% of the questions', 5.0% of the answers' distinct ones." in lines
    assert any(line.startswith("Paper: ") and "look swapped" in line for line in lines)
    assert "  is it sunny" in lines
    assert "    ground truth  yes (rank 2.5)" in lines
    assert "    generated     yes, " in lines
    assert not any("share their score" in line for line in lines)
    assert "4 ground truths share their score" in ranking_summary(make_ranked(tied=4.0), [], "runs/cca")


def test_the_papers_clusters_are_those_of_its_own_model(make_ranked):
    lines = ranking_summary(make_ranked("none", no_full_relevance=48.0), [], "runs/cca").splitlines()
    fields = {line.split("  ")[0]: line.split() for line in lines if line}
    assert fields["number of these answers"][-2:] == ["15.60", "-"]
    assert fields["annotated, no candidate of relevance 1, %"][-2:] == ["48.00", "18.15"]


def test_an_analysis_that_was_not_made_has_no_rows(make_ranked):
    result = make_ranked("nn_aq", no_full_relevance=48.0)
    del result["metrics"]["size"]
    text = ranking_summary(result, [], "runs/cca")
    assert "annotated, no candidate of relevance 1" in text
    assert "around the ground truth" not in text
    assert "number of these answers" not in text
    del result["metrics"]["no_full_relevance"]
    text = ranking_summary(result, [], "runs/cca")
    assert "The candidate sets" not in text
    assert "Paper:" not in text


def write(folder, result, name=""):
    results.write(folder / (name or result["variant"]) / "results.json", result)


def test_the_table_shows_a_runs_own_interval_and_four_places_where_they_matter(tmp_path, make_ranked):
    write(tmp_path, make_ranked("aq"))
    write(tmp_path, make_ranked("none", mr=40.0))
    table = tables.TABLES["visdial_table5"]
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    header, rows = tables.main_grid(table, block)
    by_label = {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    assert len(by_label) == 5
    ours = by_label["CCA-AQ (FastText or learned)"]
    assert ours["MR: ours"] == "17.30 [16.76, 17.85]"
    assert ours["MR: paper (VisDial)"] == "17.07"
    assert ours["MRR: ours"] == "0.1978 [0.1877, 0.2074]"
    assert ours["MRR: paper (VisDial)"] == "0.2845"
    assert ours["NDCG: ours"] == "missing"  # nothing is annotated here
    assert by_label["no CCA (FastText or learned)"]["MR: paper (VisDial)"] == "-"  # the paper has it on v0.9 alone
    assert by_label["NN-AQ (FastText or learned)"]["MR: ours"] == "missing"
    _, gaps = tables.gap_grid(table, block)
    assert ["CCA-AQ (FastText or learned)", "MR", "-22.70"] in [gap[:3] for gap in gaps]
    assert ["CCA-AQ (FastText or learned)", "MRR", "+0.0000"] in [gap[:3] for gap in gaps]


def test_vectors_and_features_have_rows_of_their_own_beside_the_papers(tmp_path, make_ranked):
    write(tmp_path, make_ranked("aq", vectors="/data/glove.42B.300d.txt"), "a")
    write(tmp_path, make_ranked("aqi", vectors="glove-6b-50d", images="vgg19"), "b")
    write(tmp_path, make_ranked("aqi", vectors="/glove/wiki.en.bin"), "c")
    table = tables.TABLES["visdial_table5"]
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    header, rows = tables.main_grid(table, block)
    place = 1 + header[1:].index("MR: paper (VisDial)")
    shown = {row[0]: (row[1].split(" ")[0], row[place]) for row in rows}
    assert shown["CCA-AQ (GloVe)"] == ("17.30", "16.60")
    assert shown["CCA-AQI (Q) (vgg19 GloVe)"] == ("17.30", "19.29")
    assert shown["CCA-AQI (Q) (resnet34 FastText or learned)"] == ("17.30", "19.25")
    assert shown["CCA-AQ (FastText or learned)"] == ("missing", "17.07")
    assert "CCA-AQI (Q) (vgg16 GloVe)" not in shown


def test_versions_of_visdial_have_tables_of_their_own(tmp_path, make_ranked):
    write(tmp_path, make_ranked("none", name="visdial/v0.9"))
    runs = cells.load_runs([tmp_path])
    assert cells.blocks(tables.TABLES["visdial_table5"], runs) == []
    table = tables.TABLES["visdial_table5_v09"]
    (block,) = cells.blocks(table, runs)
    row = next(row for row in table.rows if row.label == "no CCA (FastText or learned)")
    assert len(block.cells["no CCA (FastText or learned)", "MR"]) == 1
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
