"""The papers' figures: checked against what the papers say about them elsewhere in their text."""

import pytest

from vatex_jax.errors import ConfigError
from vatex_jax.reports import published, results


def test_every_row_has_a_value_for_every_column():
    for table in published.tables().values():
        assert table["caption"]
        assert table["source"]
        for row in table["rows"].values():
            assert len(row["values"]) == len(table["columns"])
            assert len(row.get("half_widths", row["values"])) == len(table["columns"])


@pytest.mark.parametrize(
    ("row", "en2zh", "zh2en"), [("average", 0.12, 0.08), ("final", 0.58, 0.45), ("attention", 2.27, 2.11)]
)
def test_table_5_rises_as_its_increments_say(row, en2zh, zh2en):
    for column, gain in (("en2zh/bleu4", en2zh), ("zh2en/bleu4", zh2en)):
        base, figure = (published.figure("vatex_table5", name, column) for name in ("none", row))
        assert figure - base == pytest.approx(gain)
    assert published.figure("vatex_table5", "attention", "en2zh/bleu4") == 29.12


def test_table_4_saves_the_parameters_section_4_says():
    base, shared, both = (
        published.figure("vatex_table4", row, "parameters_million")
        for row in ("base", "shared_encoder", "shared_encoder_decoder")
    )
    assert base - shared == pytest.approx(4.8)  # the text says 4.7: both figures are rounded
    assert base - both == pytest.approx(13.4)
    assert published.figure("vatex_table4", "base", "zh/cider") == 34.7
    assert published.half_width("vatex_table4", "base", "zh/cider") == 0.47
    assert published.half_width("vatex_table4", "base", "parameters_million") is None


def test_table_2_has_twenty_captions_a_video_and_section_3s_total():
    rows = published.tables()["vatex_table2"]["rows"]
    assert sum(rows["videos"]["values"]) == 41_269
    assert rows["captions"]["values"] == [20 * videos for videos in rows["videos"]["values"]]


def test_table_6_without_masks_is_table_5_rounded():
    for kind in ("noun", "verb"):
        for row in ("none", "attention"):
            unmasked = published.figure("vatex_table6", row, f"{kind}0/bleu4")
            assert unmasked == pytest.approx(published.figure("vatex_table5", row, "en2zh/bleu4"), abs=0.051)
    assert published.figure("vatex_table6", "attention", "verb100/verb_recovery") == 40.5


def test_table_2_of_visual_dialogue_has_variances_that_shares_can_have():
    for row, tasks in (("H", 1680), ("sigma", 5040)):
        assert published.figure("visdial_table2", row, "tasks") == tasks
        for name in ("selected", "selected_by_one"):
            share = published.figure("visdial_table2", row, name) / 100
            # Of shares between 0 and 1, as the figures are read; no more than if every set were all right or all wrong.
            assert published.figure("visdial_table2", row, f"{name}_variance") / 100 < share * (1 - share)


def test_columns_are_metric_names_of_ours():
    for table in ("vatex_table4", "vatex_table5", "vatex_table6", "visdial_table4",
                  "visdial_table6", "visdial_table7"):  # fmt: skip
        for column in published.tables()[table]["columns"]:
            if column != "parameters_million":
                results.check_metric_name(column)


def test_table_4_holds_figures_of_tables_6_and_7():
    four = published.tables()["visdial_table4"]
    for model in four["rows"]:
        row = "gamma/best" if model == "gamma" else f"{model}/k1/mean"
        for column in four["columns"]:
            sets, metric = column.split("/")
            other = {"H": "visdial_table6", "S": "visdial_table7"}[sets]
            assert published.figure("visdial_table4", model, column) == published.figure(other, row, metric)


def test_tables_6_and_7_have_bests_beyond_their_means_and_say_where_a_row_is_damaged():
    for name in ("visdial_table6", "visdial_table7"):
        table = published.tables()[name]
        assert len(table["rows"]) == 71  # 6 models, three rows at four k, two at k = 1 but for one model; A_gt; Gamma
        for row in (row for row in table["rows"] if row.endswith("/best")):
            for column in table["columns"]:
                best, mean = (published.figure(name, at, column) for at in (row, row.replace("/best", "/mean")))
                assert best <= mean if column.endswith("_l2") else best >= mean
    assert published.figure("visdial_table7", "gamma/std", "meteor1") is None
    assert published.figure("visdial_table7", "gamma/std", "bert_l2") == 1.4082


def test_what_the_paper_does_not_give_is_none_and_an_unknown_table_an_error():
    assert published.figure("vatex_table5", "shuffled", "en2zh/bleu4") is None
    assert published.figure("vatex_table5", "none", "en2zh/chrf") is None
    assert published.half_width("vatex_table5", "none", "en2zh/bleu4") is None
    with pytest.raises(ConfigError, match="vatex_table5"):
        published.figure("vatex_table9", "none", "en2zh/bleu4")
