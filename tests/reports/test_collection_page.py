"""The pages of collection in Chromium: writing, copying a translation, what is lacking, reviewing, what is saved."""

import json
from pathlib import Path

import pytest

from vatex_jax.data.captions import CaptionedVideo
from vatex_jax.reports.collection import make_page
from vatex_jax.reports.collection_results import read_result
from vatex_jax.reports.collection_tasks import CollectionTask, direct_batch, postedit_batch, review_batch

pytestmark = pytest.mark.browser

ODD = '</script><b>粗</b> & "引" 🐶 \u2028'
CLIP = "Bfyp0C02sko_000248_000258"


@pytest.fixture
def opened(window, tmp_path):
    """A function from a batch to its page in the browser."""

    def open_page(batch):
        window.goto(make_page(batch, tmp_path / batch.kind).resolve().as_uri())
        return window

    return open_page


def saved(window, folder: Path) -> dict:
    with window.expect_download() as download:
        window.click("#save")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return read_result(path)


def fifteen(sign: str) -> str:
    return sign * 15


def test_direct_captions_must_be_long_enough_and_different(opened, tmp_path):
    batch = direct_batch([CaptionedVideo(CLIP, (), ()), CaptionedVideo("other", (), ())], 15)
    window = opened(batch)
    assert window.get_attribute("a", "href") == "https://www.youtube.com/watch?v=Bfyp0C02sko&t=248s"
    fields = window.locator(".caption textarea")
    assert fields.count() == 5
    assert "at least 15 Chinese characters" in " ".join(window.inner_text("#guide").split())
    for place, text in enumerate([fifteen("一"), "太短。", fifteen("三"), fifteen("四"), fifteen("四")]):
        fields.nth(place).fill(text)
    window.click(".confirm")
    assert "caption 2 has 2 Chinese characters; 15 are wanted" in window.inner_text("#status")
    fields.nth(1).fill(fifteen("二"))
    window.click(".confirm")
    assert "captions 4 and 5 are the same" in window.inner_text("#status")
    fields.nth(4).fill(f"  {fifteen('五')}\n{fifteen('五')} ")
    assert "30 Chinese characters" in window.locator(".caption").nth(4).inner_text()
    window.click(".confirm")
    assert "1 of 2 done" in window.inner_text("#count")
    assert "Task 2 of 2" in window.inner_text(".task")
    window.fill("#annotator", "ann")
    result = saved(window, tmp_path)
    (first, second) = result["tasks"]
    assert first["done"]
    assert not second["done"]
    assert first["texts"] == [
        fifteen("一"),
        fifteen("二"),
        fifteen("三"),
        fifteen("四"),
        f"{fifteen('五')} {fifteen('五')}",
    ]
    assert result["batch"] == batch.id


def test_a_translation_is_copied_and_mended_and_progress_is_kept(opened, tmp_path):
    sources = (*(f"sentence {i}" for i in range(4)), ODD)
    systems = {name: {f"v&{i}": f"{name}译{i} {ODD}" for i in range(5)} for name in ("one", "two")}
    batch = postedit_batch([CaptionedVideo("v", sources, ())], systems, 0)
    window = opened(batch)
    assert " ".join(window.locator(".source").nth(4).inner_text().split()) == " ".join(ODD.split())
    shown = window.locator(".references").nth(2).locator("span").all_inner_texts()
    assert [text.split("译")[0] for text in shown] == list(batch.tasks[0].systems)
    window.locator(".references").nth(2).locator(".copy").nth(1).click()
    field = window.locator(".caption textarea").nth(2)
    assert field.input_value().startswith(f"{batch.tasks[0].systems[1]}译2")
    field.fill("改好的译文")
    window.click(".confirm")
    assert "caption 1 holds no Chinese" in window.inner_text("#status")
    window.reload()
    assert window.locator(".caption textarea").nth(2).input_value() == "改好的译文"
    assert "kept" in window.inner_text("#status")
    for place in (0, 1, 3, 4):
        window.locator(".caption textarea").nth(place).fill("同样的译文")  # two captions may be translated alike
    window.click(".confirm")
    window.fill("#annotator", "bob")
    result = saved(window, tmp_path)
    assert result["tasks"][0]["texts"] == ["同样的译文", "同样的译文", "改好的译文", "同样的译文", "同样的译文"]
    assert result["tasks"][0]["done"]


def test_every_caption_is_approved_or_rejected(opened, tmp_path):
    task = CollectionTask("v", 2, ("a dog", "a cat"))
    batch = review_batch([(task, "ann", [ODD, "猫"])])
    window = opened(batch)
    assert " ".join(window.locator("legend").nth(0).inner_text().split()) == " ".join(ODD.split())
    assert window.locator(".source").nth(1).inner_text() == "a cat"
    window.get_by_label("Approve").nth(0).check()
    window.click(".confirm")
    assert "caption 2 is neither approved nor rejected" in window.inner_text("#status")
    window.get_by_label("Reject").nth(1).check()
    window.click("summary >> nth=1")
    window.fill(".comment", "是狗不是猫")
    window.click(".confirm")
    window.fill("#annotator", "eve")
    result = saved(window, tmp_path)
    assert result["tasks"][0]["approved"] == [True, False]
    assert result["tasks"][0]["comment"] == "是狗不是猫"
    assert json.loads(json.dumps(result))["schema"] == "vatex-jax collection results 1"
