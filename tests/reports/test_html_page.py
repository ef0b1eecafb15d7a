"""One-file pages: data cannot end its element, the policy names what runs, images come from one place."""

import base64
import hashlib
import html.parser
import json
import re
from pathlib import Path

import pytest

from vatex_jax.errors import ConfigError
from vatex_jax.reports import html_page
from vatex_jax.reports.html_page import ImagePattern

ODD = ["</script><script>alert(1)</script>", "<!-- <script>", "a & b", "\u2028\u2029", "\"'", "狗 🐶", "\ud800"]


class Elements(html.parser.HTMLParser):
    """(tag, attributes) and the text within each script and style, as a parser of HTML sees them."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.texts: dict[int, str] = {}
        self.open = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open = True

    def handle_endtag(self, tag):
        self.open = False

    def handle_data(self, data):
        number = len(self.tags) - 1
        if self.open:
            self.texts[number] = self.texts.get(number, "") + data

    def of(self, tag: str) -> list[tuple[dict, str]]:
        return [(attributes, self.texts.get(number, "")) for number, (found, attributes) in enumerate(self.tags)
                if found == tag]  # fmt: skip


@pytest.fixture
def page():
    text = html_page.document("T </title><script>", "<main></main>", ODD, ("verification.js",), "https://a.example")
    return Elements(text)


def test_odd_data_stay_in_their_element_and_come_out_as_they_were(page):
    (attributes, data), (_, script) = page.of("script")
    assert attributes == {"type": "application/json", "id": "data"}
    assert json.loads(data) == ODD
    assert '"use strict"' in script


def test_embedded_json_is_ascii_without_the_characters_that_mean_something():
    text = html_page.embed_json(ODD)
    assert text.isascii()
    assert not set("<>&") & set(text)
    with pytest.raises(ValueError, match="JSON"):
        html_page.embed_json(float("nan"))


def test_the_title_is_escaped(page):
    assert page.of("title")[0][1] == "T </title><script>"
    assert page.of("html")[0][0] == {"lang": "en"}


def test_the_policy_allows_the_pages_own_script_and_style_and_one_host(page):
    policy = next(a["content"] for a, _ in page.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def hashed(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == hashed(page.of("script")[1][1])
    assert rules["style-src"] == hashed(page.of("style")[0][1])
    assert rules["img-src"] == "data: https://a.example"
    assert rules.keys() == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}


def test_without_images_nothing_is_loaded_from_anywhere():
    text = html_page.document("t", "", None, ())
    assert "img-src data:;" in text
    assert not re.search(r"(src|href)=\"(?!data:,)", text)


@pytest.mark.parametrize("path", sorted(html_page.PARTS.iterdir()), ids=lambda path: path.name)
def test_parts_hold_nothing_that_would_end_their_element_or_put_texts_in_as_markup(path):
    text = html_page.part(path.name)
    assert not re.search(r"</(script|style)|<!--", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|fetch\(|XMLHttpRequest|eval\(", text)
    assert not re.search(r"\bstyle=|\bon[a-z]+=\"", text), "the policy would not let it work"


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        ("img/{image_id}.jpg", "img/185.jpg"),
        ("img/v_{image_id:012}.jpg", "img/v_000000000185.jpg"),
        ("img/v_{image_id:06d}.jpg", "img/v_000185.jpg"),
        ("https://a.example/{image_id}?of={image_id}", "https://a.example/185?of=185"),
    ],
)
def test_a_pattern_gets_the_images_number(pattern, place):
    assert ImagePattern(pattern).place(185) == place


@pytest.mark.parametrize(
    "pattern",
    ["img.jpg", "{image}.jpg", "{image_id}/{x}.jpg", "{image_id.__class__}", "ftp://a.example/{image_id}",
     "javascript://{image_id}", "https://{image_id}.example/a", "https://a.example;script-src/{image_id}",
     "https://{image_id}"],
)  # fmt: skip
def test_a_pattern_without_its_number_or_with_a_doubtful_host_is_refused(pattern):
    with pytest.raises(ConfigError, match="--images="):
        ImagePattern(pattern)


def test_a_path_is_named_as_seen_from_the_page_and_quoted():
    pattern = ImagePattern("photos of 100%/#{image_id}.jpg")
    assert pattern.source(7, Path("out/page")) == "../../photos%20of%20100%25/%237.jpg"
    assert pattern.policy == "'self' file:"


def test_a_urls_policy_is_its_host_alone():
    assert ImagePattern("http://localhost:8000/img/{image_id}").policy == "http://localhost:8000"
    assert ImagePattern("https://a.example/b/{image_id}").source(3, Path("out")) == "https://a.example/b/3"
