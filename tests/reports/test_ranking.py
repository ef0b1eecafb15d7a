"""Ranking of VisDial's candidates as a summary, a table and a picture."""

import numpy as np
import pytest

from vatex_jax.reports import cells, plots, published, results, tables
from vatex_jax.reports.item_statistics import RANKING
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
    assert not any(line.startswith("Fitted on") for line in lines)  # one row a question, or nothing fitted
    assert "Fitted on 4,928 pairs of question and answer." in ranking_summary(make_ranked(pairs=4928.0), [], "runs/cca")
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
    write(tmp_path, make_ranked("aq", vectors="wiki.en.bin"))
    write(tmp_path, make_ranked("none", vectors="wiki.en.bin", mr=40.0))
    table = tables.TABLES["visdial_table5"]
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    header, rows = tables.main_grid(table, block)
    by_label = {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    assert list(by_label) == ["no CCA (FastText)", "CCA-AQ (FastText)"]  # what nobody ran is left out
    ours = by_label["CCA-AQ (FastText)"]
    assert ours["MR: ours"] == "17.30 [16.76, 17.85]"
    assert ours["MR: paper (VisDial)"] == "17.07"
    assert ours["MRR: ours"] == "0.1978 [0.1877, 0.2074]"
    assert ours["MRR: paper (VisDial)"] == "0.2845"
    assert ours["NDCG: ours"] == "missing"  # nothing is annotated here
    assert by_label["no CCA (FastText)"]["MR: paper (VisDial)"] == "-"  # the paper has it on v0.9 alone
    _, gaps = tables.gap_grid(table, block)
    assert ["CCA-AQ (FastText)", "no CCA (FastText)", "MR", "-22.70"] in [gap[:4] for gap in gaps]
    assert ["CCA-AQ (FastText)", "no CCA (FastText)", "MRR", "+0.0000"] in [gap[:4] for gap in gaps]


def test_learned_vectors_have_rows_of_their_own_without_the_papers_figures_beside(tmp_path, make_ranked):
    write(tmp_path, make_ranked("aq"))
    write(tmp_path, make_ranked("nn_aq"))
    table = tables.TABLES["visdial_table5"]
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    header, rows = tables.main_grid(table, block)
    shown = {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    assert list(shown) == ["NN-AQ (learned)", "CCA-AQ (learned)"]
    assert shown["CCA-AQ (learned)"]["MR: ours"] == "17.30 [16.76, 17.85]"
    assert {row[name] for row in shown.values() for name in header if "paper" in name} == {"-"}
    text = tables.render(table, [block], "text")
    assert "paper (VisDial)" not in text  # a column without a figure
    (line,) = [line for line in text.splitlines() if line.startswith("The paper's ")]
    assert line == (
        "The paper's CCA-AQ, FastText (VisDial): MR 17.07, R@1 16.18, R@5 40.18, R@10 55.35, MRR 0.2845, NDCG 0.3493."
    )


def test_vectors_and_features_have_rows_of_their_own_beside_the_papers(tmp_path, make_ranked):
    write(tmp_path, make_ranked("aq", vectors="/data/glove.42B.300d.txt"), "a")
    write(tmp_path, make_ranked("aqi", vectors="glove-6b-50d", images="vgg19"), "b")
    write(tmp_path, make_ranked("aqi", vectors="/glove/wiki.en.bin"), "c")
    write(tmp_path, make_ranked("nn_aqi", vectors="/glove/wiki.en.bin", images="vgg16"), "d")
    table = tables.TABLES["visdial_table5"]
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    header, rows = tables.main_grid(table, block)
    place = 1 + header[1:].index("MR: paper (VisDial)")
    assert {row[0]: (row[1].split(" ")[0], row[place]) for row in rows} == {
        "CCA-AQ (GloVe)": ("17.30", "16.60"),
        "CCA-AQI (Q) (vgg19 GloVe)": ("17.30", "19.29"),
        "CCA-AQI (Q) (resnet34 FastText)": ("17.30", "19.25"),
        "NN-AQI (vgg16 FastText)": ("17.30", "-"),
    }


def test_rows_are_compared_with_no_cca_on_the_same_vectors_over_dialogues(tmp_path, make_ranked):
    """Two dialogues, of one and of two questions; what is printed is worked out from their ranks."""
    base = np.array([[1, 30, 0, 0, 0, 0.1, 0, 0], [2, 60, 0, 0, 0, 0.2, 0, 0]], float)
    better = base.copy()
    better[:, 1] = 20, 40
    for vectors, mr in (("learned", 30.0), ("wiki.en.bin", 31.0)):
        for variant, own, statistics in (("none", mr, base), ("aq", 20.0, better)):
            write(tmp_path, make_ranked(variant, vectors=vectors, mr=own), f"{variant}-{vectors}")
            if vectors == "learned":
                RANKING.write(tmp_path / f"{variant}-{vectors}", statistics)
    table = tables.TABLES["visdial_table5"]
    (block,) = cells.blocks(table, cells.load_runs([tmp_path]))
    header, gaps = tables.gap_grid(table, block)
    fasttext, learned = (dict(zip(header, gap, strict=True)) for gap in gaps if gap[2] == "MR")
    assert (fasttext["from"], fasttext["difference"]) == ("no CCA (FastText)", "-11.00")
    assert fasttext["95% over dialogues"] == "-"
    assert (learned["from"], learned["difference"]) == ("no CCA (learned)", "-10.00")
    assert learned["95% over dialogues"] == "[-10.00, -10.00]"  # ten ranks a question, whichever are drawn
    text = tables.render(table, [block], "text")
    assert "Difference from the row that is named\n" in text
    assert "over the seeds" not in text.partition("Difference")[2].partition("Ours")[0]


def test_versions_of_visdial_have_tables_of_their_own(tmp_path, make_ranked):
    write(tmp_path, make_ranked("none", name="visdial/v0.9", vectors="wiki.en.bin"))
    runs = cells.load_runs([tmp_path])
    assert cells.blocks(tables.TABLES["visdial_table5"], runs) == []
    table = tables.TABLES["visdial_table5_v09"]
    (block,) = cells.blocks(table, runs)
    row = table.row("no CCA (FastText)")
    assert len(block.cells["no CCA (FastText)", "MR"]) == 1
    assert [table.paper(row, column) for column in table.columns] == [57.18, 4.13, 9.67, 13.89, 0.0837]
    assert "v0.9" in tables.render(table, [block], "text")


def test_every_row_of_the_paper_without_a_model_of_dialogue_has_its_row():
    """Section "CCA" of Table 5: what is named by variant, vectors and features."""
    named = {row.published for name in ("visdial_table5", "visdial_table5_v09") for row in tables.TABLES[name].rows}
    for name in published.tables()["visdial_table5"]["rows"]:
        assert (name in named) == (name.split("/")[1] in ("nn_aq", "nn_aqi", "none", "aq", "aqi"))


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
