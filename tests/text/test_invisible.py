"""The rule for invisible characters, against Unicode's own list and on texts worked by hand."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vatex_jax.text.invisible import is_visible, visible

FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
SEEN = {
    *(0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD),
    *range(0xFFF9, 0xFFFC),
    *range(0x13430, 0x13440),
}
"""Format characters that are no Default_Ignorable_Code_Point (DerivedCoreProperties.txt of Unicode 15)."""


def test_alone_every_ignorable_format_character_goes_and_every_other_stays():
    for code in range(0x110000):
        character = chr(code)
        if unicodedata.category(character) == "Cf":
            assert visible(f"a{character}b") == (f"a{character}b" if code in SEEN else "ab"), hex(code)
            assert is_visible(character) == (code in SEEN), hex(code)
        elif unicodedata.category(character) != "Cc":
            assert visible(character) == character, hex(code)


@pytest.mark.parametrize(
    "kept",
    [
        "👩\u200d🚒",
        "👩🏽\u200d🚒",
        "👁\ufe0f\u200d🗨\ufe0f",
        "🙂\u200d↔\ufe0f",
        FLAG,
        PERSIAN,
        "\u0915\u094d\u200d\u0937",  # Devanagari: a half letter
        "\u0d28\u0d4d\u200d",  # Malayalam: a chillu, at the end of a word
        "\u182e\u180e\u1820",  # Mongolian: a separated vowel
        "\u0600\u0661",
        "一个 男人\u3000\t\n\x1c\x85",
    ],
)
def test_what_is_seen_stays(kept):
    assert visible(kept) == kept


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\ufeffA man\u200b runs", "A man runs"),
        ("ex\u00adam\u00adple", "example"),
        ("一个\u200b男\u2060人", "一个男人"),
        ("\u202eabc\u202c \u2066d\u2069", "abc d"),
        ("a\u200db \u200d🚒 👩\u200d", "ab 🚒 👩"),
        ("a\u200cb \u0645\u06cc\u200c", "ab \u0645\u06cc"),
        ("\u0645\u06cc\u200c\u200b\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("\U000e0067x🏴\U000e0067", "x🏴"),
        ("a\x00b\x08\x7fc", "a b  c"),
        ("", ""),
    ],
)
def test_what_is_not_seen_goes(text, left):
    assert visible(text) == left


@given(
    st.text(
        "a 男👩🚒🏽🏴\u200b\u200c\u200d\u180e\ufe0f\u0645\u094d\u182e\u061c\U000e0067\U000e007f\x00\ufeff", max_size=12
    )
)
@settings(max_examples=500, deadline=None)
def test_a_second_time_nothing_goes_and_emptiness_is_the_same_rule(text):
    assert visible(visible(text)) == visible(text)
    assert is_visible(text) == bool(visible(text).strip())
