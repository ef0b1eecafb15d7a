"""The page in Chromium: odd texts, keys, progress, saved files that the reader takes, and nothing from the network."""

import base64
import json
from pathlib import Path

import pytest

from vatex_jax.reports.html_page import ImagePattern
from vatex_jax.reports.verification import make_pages
from vatex_jax.reports.verification_results import collect, read_result
from vatex_jax.reports.verification_tasks import Batch, Task

pytestmark = pytest.mark.browser

ODD = (
    "</script><script>alert(1)</script>",
    "\"quoted\" & 'so' <b>bold</b>",
    "<img src=x onerror=alert(2)>",
    "两只狗。",
    "🐶🐶 👨‍👩‍👧",
    "هناك كلبان في الصورة",
    "line\u2028separator",
    "&lt;escaped&gt;",
    "w" * 150,
)
GIF = base64.b64decode("R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=")
NO_STORAGE = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"


def make_batch(count: int = 6, answers: tuple[str, ...] = ("yes", "no", "maybe")) -> Batch:
    truth = (True, *[False] * (len(answers) - 1))
    return Batch(tuple(Task(number, 0, f"question {number}?", answers, "H", truth) for number in range(count)), 4)


@pytest.fixture
def make(tmp_path):
    """A function from a batch to the address of its page."""

    def made(batch: Batch, **options) -> str:
        (path,) = make_pages(batch, tmp_path / batch.id, **options)
        return path.as_uri()

    return made


def press(window, *keys: str) -> None:
    for key in keys:
        window.keyboard.press(key)


def save(window, folder: Path) -> dict:
    """Saves by the key; the file as the reader reads it."""
    with window.expect_download() as found:
        press(window, "s")
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return read_result(path)


def ticks(window) -> list[list[bool]]:
    """Of every task on the page, whether its answers are ticked."""
    return window.evaluate(
        "[...document.querySelectorAll('.answers')].map(set => [...set.querySelectorAll('input')].map(b => b.checked))"
    )


def focused(window) -> str:
    """The text beside the box, or on the button, that has the focus."""
    return window.evaluate("(document.activeElement.closest('label, button') ?? document.body).textContent")


def test_odd_texts_are_shown_as_they_are_and_do_nothing(window, make):
    batch = Batch((Task(1, 0, ODD[0], ODD, "H", (True, *[False] * 8)),), 4)
    window.goto(make(batch, title="</title><script>alert(3)</script>"))
    assert window.locator(".answers li").evaluate_all("all => all.map(one => one.textContent)") == list(ODD)
    assert window.locator("legend").text_content() == ODD[0]
    assert window.locator("h1").text_content() == "</title><script>alert(3)</script>"
    assert window.title() == "</title><script>alert(3)</script>"
    assert window.locator("script").count() == 2
    assert window.locator("main img, main b").count() == 0
    directions = window.locator(".answers span").evaluate_all("all => all.map(one => getComputedStyle(one).direction)")
    assert [place for place, direction in enumerate(directions) if direction == "rtl"] == [5]


def test_every_answer_is_ticked_and_four_tasks_are_shown(window, make):
    window.goto(make(make_batch()))
    assert ticks(window) == [[True] * 3] * 4
    assert window.locator("#where").inner_text() == "Page 1 of 2"
    window.locator("#forward").click()
    assert ticks(window) == [[True] * 3] * 2
    assert window.locator(".task h2").first.inner_text().startswith("Task 5 of 6")
    assert window.locator("#forward").is_disabled()


def test_keys_untick_confirm_and_go_on(window, make):
    window.goto(make(make_batch()))
    press(window, "j", "j", "Space")
    assert ticks(window)[0] == [True, False, True]
    assert window.locator(".state").first.inner_text() == "2 of 3 kept"
    press(window, "ArrowDown", "Space", "ArrowUp", "Space", "k", "Space")
    assert ticks(window)[0] == [False, True, False]
    press(window, "Enter")
    assert window.locator("#count").inner_text() == "1 of 6 done"
    press(window, "Space")  # the focus went on to the second task
    assert ticks(window)[1] == [False, True, True]
    press(window, "j", "j", "j")
    assert focused(window) == "Confirm"
    press(window, "k")
    assert focused(window) == "maybe"
    press(window, "n", "n", "n")
    assert window.locator("#where").inner_text() == "Page 2 of 2"
    press(window, "p")
    assert window.locator("#where").inner_text() == "Page 1 of 2"
    assert window.evaluate("document.activeElement.closest('.task').id") == "task-3"


def test_the_last_task_leads_to_saving_and_skipped_ones_are_come_back_to(window, make):
    window.goto(make(make_batch(5)))
    press(window, "n", "n", *["Enter"] * 3)  # tasks 2 to 4
    press(window, "Enter")  # 5, on the second page
    assert window.evaluate("document.activeElement.closest('.task').id") == "task-0"
    press(window, "Enter")
    assert window.locator("#count").inner_text() == "5 of 5 done"
    assert "All 5 tasks are done" in window.locator("#status").inner_text()
    assert focused(window) == "Save results"


def test_a_change_takes_a_confirmation_back(window, make):
    window.goto(make(make_batch(1)))
    press(window, "j", "Enter")
    assert window.locator("#count").inner_text() == "1 of 1 done"
    window.get_by_label("maybe").click()
    assert window.locator("#count").inner_text() == "0 of 1 done"


def test_keys_do_nothing_to_what_is_written(window, make):
    window.goto(make(make_batch()))
    window.locator("summary", has_text="Comment").first.click()
    window.locator("textarea").first.press_sequentially("jnps no 。")
    assert window.locator("textarea").first.input_value() == "jnps no 。"
    window.locator("#annotator").press_sequentially("snap")
    assert window.locator("#annotator").input_value() == "snap"
    window.locator("h1").click()
    press(window, "Control+s", "Alt+j")
    assert window.locator("#status").inner_text() == ""
    assert ticks(window) == [[True] * 3] * 4


def test_what_is_saved_is_what_the_reader_takes(window, make, tmp_path):
    batch = make_batch(2)
    window.goto(make(batch))
    window.locator("#annotator").fill(" ann_1 ")
    window.get_by_label("no", exact=True).first.click()
    press(window, "Enter")
    window.locator("summary", has_text="Comment").nth(1).click()
    window.locator("textarea").nth(1).fill("很难 </script>")
    window.locator("h1").click()
    result = save(window, tmp_path)
    assert Path(result["path"]).name == f"verify_{batch.id}_ann_1.json"
    assert [(task["id"], task["done"], task["ticked"]) for task in result["tasks"]] == [
        (batch.tasks[0].id, True, [0, 2]),
        (batch.tasks[1].id, False, [0, 1, 2]),
    ]
    assert result["tasks"][1]["comment"] == "很难 </script>"
    assert "1 of 2 tasks are done" in window.locator("#status").inner_text()
    collected = collect([result], {batch.id: batch})
    assert [judgement.ticked for judgement in collected.judgements] == [{0, 2}]
    assert [flag[0] for flag in collected.flags] == ["incomplete"]


@pytest.mark.parametrize("name", ["", "ann@example.org", "a b", "a/b", "x" * 41])
def test_without_a_proper_id_nothing_is_saved(name, window, make):
    downloads = []
    window.on("download", lambda download: downloads.append(download))
    window.goto(make(make_batch(1)))
    # The field takes 40 characters from a keyboard; scripts and old browsers may put more into it.
    window.locator("#annotator").evaluate("(field, name) => { field.value = name; }", name)
    window.locator("#save").click()
    assert window.locator("#annotator").get_attribute("aria-invalid") == "true"
    assert window.evaluate("document.activeElement.id") == "annotator"
    assert "annotator id" in window.locator("#status").inner_text()
    window.wait_for_timeout(200)
    assert downloads == []


def test_progress_is_kept_and_batches_do_not_mix(window, make):
    address = make(make_batch())
    window.goto(address)
    window.locator("#annotator").fill("标注员-1")
    press(window, "Tab")
    window.locator("h1").click()
    press(window, "j", "Space", "Enter", "Space", *["Enter"] * 3)
    window.reload()
    assert window.locator("#where").inner_text() == "Page 2 of 2", "the first page is done"
    window.locator("#back").click()
    assert ticks(window)[:3] == [[False, True, True], [False, True, True], [True] * 3]
    assert window.locator("#count").inner_text() == "4 of 6 done"
    assert window.locator("#annotator").input_value() == "标注员-1"
    window.goto(make(make_batch(5)))
    assert ticks(window) == [[True] * 3] * 4
    assert window.locator("#annotator").input_value() == ""


@pytest.mark.parametrize(
    "kept", ["{", "3", '{"tasks": 3}', '{"tasks": [null, {"id": 1, "ticked": 2}], "annotator": {}}']
)
def test_damaged_progress_counts_as_none(kept, window, make):
    window.goto(make(make_batch(1)))
    window.evaluate("kept => { for (const key of Object.keys(localStorage)) localStorage.setItem(key, kept); }", kept)
    window.reload()
    assert ticks(window) == [[True] * 3]
    press(window, "j", "Enter")
    window.locator("#count", has_text="1 of 1 done").wait_for()
    window.reload()
    window.locator("#count", has_text="1 of 1 done").wait_for()


def test_without_storage_the_page_says_so_and_the_saved_file_goes_on(window, make, tmp_path):
    address = make(make_batch(2))
    window.add_init_script(NO_STORAGE)
    window.goto(address)
    assert "keeps no progress" in window.locator("#storage").inner_text()
    window.locator("#annotator").fill("ann")
    window.locator("h1").click()
    press(window, "j", "Space", "Enter")
    result = save(window, tmp_path)
    window.goto(address)
    assert ticks(window) == [[True] * 3] * 2, "there is no storage"
    window.locator("#file").set_input_files(result["path"])
    window.get_by_text("Loaded: 2 tasks, 1 of them done.").wait_for()
    assert ticks(window) == [[False, True, True], [True] * 3]
    assert window.locator("#count").inner_text() == "1 of 2 done"
    assert window.locator("#annotator").input_value() == "ann"


def test_leaving_asks_first_where_nothing_is_kept_and_something_is_not_saved(window, make, tmp_path):
    asks = "!dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    address = make(make_batch(1))
    window.goto(address)
    window.get_by_label("no", exact=True).click()
    assert not window.evaluate(asks)
    window.add_init_script(NO_STORAGE)
    window.goto(address)
    assert not window.evaluate(asks)
    window.locator("#annotator").fill("ann")
    window.get_by_label("no", exact=True).click()
    assert window.evaluate(asks)
    save(window, tmp_path)
    assert not window.evaluate(asks)


def test_a_file_of_something_else_is_not_loaded(window, make, tmp_path):
    batch = make_batch(1)
    window.goto(make(batch))
    right = {"schema": "vatex-jax verification 1", "batch": batch.id, "file": "verify"}
    right["tasks"] = [{"id": batch.tasks[0].id, "done": True, "ticked": []}]
    wrong = [{"schema": "vatex-jax verification 2"}, {"batch": "other"}, {"file": "verify-2"}]
    texts = ["{", "[]", "null", *(json.dumps(right | change) for change in wrong)]
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.json"
        path.write_text(text, encoding="utf-8")
        window.locator("#status").evaluate("status => { status.textContent = ''; }")
        window.locator("#file").set_input_files(path)
        window.get_by_text("That file holds no results of this page.").wait_for()
        assert ticks(window) == [[True] * 3]
    path.write_text(json.dumps(right), encoding="utf-8")
    window.locator("#file").set_input_files(path)
    window.get_by_text("Loaded: 1 tasks, 1 of them done.").wait_for()
    assert ticks(window) == [[False] * 3]


def test_a_second_window_is_warned_of(window, make):
    address = make(make_batch(1))
    window.goto(address)
    second = window.context.new_page()
    second.goto(address)
    assert window.locator("#storage").is_hidden()
    second.get_by_label("yes").click()
    window.get_by_text("changed in another window").wait_for()


def test_seconds_go_to_the_task_that_was_looked_at_and_pauses_are_cut(window, make, tmp_path):
    window.clock.install(time=0)
    window.goto(make(make_batch(3)))
    window.clock.pause_at(3_600)  # from here on time passes only where the test says so
    window.locator("#annotator").fill("ann")
    window.locator("#annotator").click()
    window.clock.run_for(5_000)
    window.get_by_label("maybe").nth(0).click()
    window.clock.run_for(2_500)
    press(window, "n")
    window.clock.run_for(300_000)
    press(window, "Enter")
    seconds = [task["seconds"] for task in save(window, tmp_path)["tasks"]]
    assert seconds == pytest.approx([7.5, 60.0, 0.0], abs=0.05)


def test_pictures_are_shown_and_missing_ones_said(window, make, tmp_path):
    (tmp_path / "img of 100%").mkdir()
    (tmp_path / "img of 100%" / "000.gif").write_bytes(GIF)
    window.goto(make(make_batch(2), images=ImagePattern(str(tmp_path / "img of 100%" / "{image_id:03}.gif"))))
    window.get_by_text("Picture 1 cannot be shown. Judge by the question alone.").wait_for()
    assert window.locator("img").count() == 1
    window.wait_for_function("document.querySelector('img').naturalWidth === 1")
    assert window.locator("img").get_attribute("alt") == "The picture of this question, number 0"
    window.locator("#annotator").fill("ann")
    window.locator("h1").click()
    assert [task["image"] for task in save(window, tmp_path)["tasks"]] == ["shown", "missing"]


def test_without_pictures_the_page_speaks_of_none(window, make):
    window.goto(make(make_batch(1)))
    assert "picture" not in window.locator("body").inner_text()


def test_nothing_is_asked_of_the_network_and_nothing_could_be(window, make, tmp_path):
    asked, stopped = [], {}
    window.context.on("request", lambda request: asked.append(request.url))
    window.context.on("requestfailed", lambda request: stopped.update({request.url: request.failure}))
    address = make(make_batch(2))
    window.goto(address)
    window.locator("#annotator").fill("ann")
    window.locator("h1").click()
    press(window, "j", "Space", "Enter", "Enter")
    save(window, tmp_path)
    assert {url for url in asked if not url.startswith(("blob:", "data:"))} == {address}
    refused = window.evaluate("""async () => {
        const refused = [];
        addEventListener("securitypolicyviolation", event => refused.push(event.effectiveDirective));
        const tries = [() => fetch("https://a.example/"), () => navigator.sendBeacon("https://a.example/", "x")];
        for (const act of tries) try { await act(); } catch { }
        document.body.append(Object.assign(document.createElement("img"), { src: "https://a.example/x.png" }));
        document.body.append(Object.assign(document.createElement("script"), { textContent: "window.ran = true" }));
        document.body.insertAdjacentHTML("beforeend", "<p style='color: red' onclick='window.ran = true'>x</p>");
        document.body.lastElementChild.click();
        for (let tries = 0; tries < 100 && new Set(refused).size < 5; tries++)
            await new Promise(done => setTimeout(done, 100));
        return { ran: window.ran ?? false, refused: [...new Set(refused)].sort() };
    }""")
    assert refused == {
        "ran": False,
        "refused": ["connect-src", "img-src", "script-src-attr", "script-src-elem", "style-src-attr"],
    }
    # Of the attempts Chromium lists the picture as a request, and that the policy stopped it.
    assert {stopped.get(url) for url in asked if "a.example" in url} <= {"csp"}


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_it_fits_any_width(width, window, make, tmp_path):
    batch = Batch((Task(1, 0, ODD[8], ODD, "H", (True, *[False] * 8)),), 4)
    window.set_viewport_size({"width": width, "height": 800})
    window.goto(make(batch, title=ODD[8], images=ImagePattern(f"{tmp_path}/{{image_id}}.gif")))
    assert window.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_in_both_schemes(scheme, window, make):
    """WCAG 2's contrast of 4.5 between a text and what is behind it."""
    window.emulate_media(color_scheme=scheme)
    window.goto(make(make_batch(2)))
    press(window, "j", "Space", "Enter")
    contrasts = window.evaluate("""() => {
        const rgb = text => text.match(/[\\d.]+/g).map(Number);
        const light = text => rgb(text).slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
        const behind = element => {
            const colour = getComputedStyle(element).backgroundColor;
            return rgb(colour)[3] === 0 ? behind(element.parentElement) : colour;
        };
        const contrast = element => {
            const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
            return (a + 0.05) / (b + 0.05);
        };
        const texts = "h1, h2, .state, legend, .answers span, .confirm, .soft, kbd, .keys, .bar span, .main, #status";
        const all = [...document.querySelectorAll(texts)];
        return Object.fromEntries(all.map((one, number) => [`${number} ${one.textContent}`, contrast(one)]));
    }""")
    assert len(contrasts) > 20
    assert {text: value for text, value in contrasts.items() if value < 4.5} == {}
    assert window.evaluate("getComputedStyle(document.body).backgroundColor") == {
        "light": "rgb(243, 244, 246)", "dark": "rgb(18, 21, 24)",
    }[scheme]  # fmt: skip
