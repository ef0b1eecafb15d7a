"""What the end of a run tells a person."""

import pytest

from vatex_jax.reports.grid import display_width
from vatex_jax.reports.summary import translation_summary


@pytest.fixture
def whole(make_result):
    metrics = {"bleu4": 41.234, "bleu4_low": 39.0, "bleu4_high": 43.5, "oracle_bleu4": 71.25, "ceiling_bleu4": 36.0}
    return make_result(metrics=metrics)


def test_score_interval_bounds_signature_and_place(whole):
    lines = translation_summary(whole, [], "runs/vmt").splitlines()
    assert lines[0] == "translation en2zh attention, seed 0, on vatex_sim 1.0.0, test split, 100 examples"
    assert lines[1].startswith("SIMULATED")
    figures = {line.rpartition("  ")[0].strip(): line for line in lines}
    assert any("this run" in line and "41.23" in line and "[39.00, 43.50]" in line for line in lines)
    assert any("oracle" in line and "71.25" in line for line in lines), figures
    assert any("without the video" in line and "36.00" in line for line in lines)
    assert any(line.startswith("signature") and "tok:zh:jieba-0.42.1" in line for line in lines)
    assert lines[-1] == "Results are in runs/vmt"


def test_what_the_data_does_not_give_is_left_out(make_result):
    text = translation_summary(make_result(dataset={"simulated": False, "sizes": {}}), [], "runs/vmt")
    assert "oracle" not in text
    assert "[" not in text
    assert "Translations" not in text
    assert "real data" in text


def test_translations_line_up(whole):
    examples = [
        {"source": "a man swings a bat", "reference": "男人挥球棒", "ours": "男人挥球棒", "no_video": "男人挥蝙蝠"},
        {"source": "😀", "reference": "笑", "ours": "", "no_video": None},
    ]
    lines = translation_summary(whole, examples, "runs/vmt").splitlines()
    start = lines.index("Translations whose sense only the video tells") + 2
    assert lines[start : start + 8] == [
        "  source     a man swings a bat",
        "  reference  男人挥球棒",
        "  ours       男人挥球棒",
        "  no video   男人挥蝙蝠",
        "",
        "  source     😀",
        "  reference  笑",
        "  ours",
    ]
    assert display_width("  reference  ") == display_width("  no video   ")
