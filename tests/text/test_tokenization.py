"""Tokenizers: hand-cut sentences, the mask token, and a jieba that neither speaks nor leaves files."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vatex_jax.errors import ConfigError
from vatex_jax.text.tokenization import make_tokenizer

ENGLISH, WORDS, CHARACTERS = make_tokenizer("en"), make_tokenizer("zh"), make_tokenizer("zh", "characters")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A man in red is Running.", "a man in red is running ."),
        ("The man's T-shirt isn't 3.5 m, it's 1,000!", "the man 's t-shirt isn't 3.5 m , it 's 1,000 !"),
        ("the dog’s “bone”", "the dog 's “ bone ”"),
        ("A [M] cuts a [M].", "a [M] cuts a [M] ."),
        ("[M][M]x", "[M] [M] x"),
        ("a [m]", "a [ m ]"),
        ("wait... what?!", "wait ... what ? !"),
        ("Cafe\u0301 Caf\u00e9", "caf\u00e9 caf\u00e9"),
        ("nice 👍🏽👩‍🚒 \U0001f600", "nice 👍🏽 👩‍🚒 \U0001f600"),
        ("snake_case 'quoted'", "snake _ case ' quoted '"),
        (" \n\t\u3000", ""),
        ("", ""),
    ],
)
def test_english_sentences_cut_by_hand(text, tokens):
    assert ENGLISH.tokenize(text) == tokens.split()


def test_chinese_characters_keep_numbers_and_latin_runs_whole():
    assert CHARACTERS.tokenize("他 在NBA打3.5场ice cream球。") == [
        *("他", "在", "NBA", "打", "3.5", "场", "ice", "cream", "球", "。")
    ]
    assert CHARACTERS.tokenize("一个[M]在👍🏽。") == ["一", "个", "[M]", "在", "👍🏽", "。"]


def test_chinese_words_are_those_of_jieba():
    assert WORDS.tokenize("一个 男人\u3000正在弹吉他。") == ["一个", "男人", "正在", "弹", "吉他", "。"]
    assert WORDS.tokenize("一个[M]在[M]。") == ["一个", "[M]", "在", "[M]", "。"]
    assert WORDS.tokenize("") == []


def test_detokenize_joins_for_reading():
    assert ENGLISH.detokenize(["a", "man", "."]) == "a man ."
    assert WORDS.detokenize(["他", "吃", "ice", "cream", "。"]) == "他吃ice cream。"
    assert WORDS.detokenize([]) == ""


def test_signatures_tell_language_and_segmenter():
    assert ENGLISH.signature == "en:vatex-jax-1-lower"
    assert WORDS.signature == "zh:jieba-0.42.1"
    assert CHARACTERS.signature == "zh:char"
    assert [tokenizer.language for tokenizer in (ENGLISH, WORDS, CHARACTERS)] == ["en", "zh", "zh"]


@given(st.text(max_size=40) | st.text("[M] '’.-_a1男👍🏽\u200d\u0301", max_size=20))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_whole_tokens_and_loses_nothing_but_whitespace(text):
    for tokenizer in (ENGLISH, WORDS, CHARACTERS):
        tokens = tokenizer.tokenize(text)
        assert all(token.split() == [token] for token in tokens)
    assert "".join(CHARACTERS.tokenize("男" + text)).count("[M]") == text.count("[M]")
    assert ENGLISH.tokenize(text).count("[M]") == text.count("[M]")


SECOND = ENGLISH_2, WORDS_2, CHARACTERS_2 = (
    make_tokenizer("en", version=2),
    make_tokenizer("zh", version=2),
    make_tokenizer("zh", "characters", version=2),
)


def test_signatures_tell_the_second_version():
    assert [tokenizer.signature for tokenizer in SECOND] == [
        "en:vatex-jax-2-lower", "zh:jieba-0.42.1-noinvisible", "zh:char-noinvisible",
    ]  # fmt: skip


@pytest.mark.parametrize("mark", ["\u200b", "\ufeff", "\u00ad", "\u200e", "\u2060", "\u200d"])
def test_invisible_characters_are_in_no_token(mark):
    assert ENGLISH_2.tokenize(f"{mark}a m{mark}an.{mark}") == ["a", "man", "."]
    assert WORDS_2.tokenize(f"{mark}一个男{mark}人正在弹吉他。") == ["一个", "男人", "正在", "弹", "吉他", "。"]
    assert CHARACTERS_2.tokenize(f"他{mark}在{mark}") == ["他", "在"]


@pytest.mark.parametrize(
    "emoji", ["👩\u200d🚒", "👍🏽", "❤\ufe0f", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"]
)
def test_an_emoji_is_one_token_however_it_is_composed(emoji):
    for tokenizer in (ENGLISH_2, WORDS_2, CHARACTERS_2):
        assert emoji in tokenizer.tokenize(f"好 {emoji}好")
        assert len(tokenizer.tokenize(f"{emoji} {emoji}")) == 2


def test_words_of_scripts_that_need_joiners_keep_them_whole():
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert ENGLISH_2.tokenize(f"{persian} a") == [persian, "a"]


def test_the_first_version_keeps_them():
    """Invisible characters are words of their own, or inside of words."""
    english, words, characters = (make_tokenizer(*rest, version=1) for rest in (("en",), ("zh",), ("zh", "characters")))
    assert english.tokenize("\ufeffA m\u200ban.") == ["\ufeff", "a", "m", "\u200b", "an", "."]
    assert words.tokenize("一个\u200b男人") == ["一个", "\u200b", "男人"]
    assert characters.tokenize("他\u200b在") == ["他", "\u200b", "在"]
    assert [one.signature for one in (english, words, characters)] == [
        "en:vatex-jax-1-lower", "zh:jieba-0.42.1", "zh:char",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match="no version 3"):
        make_tokenizer("en", version=3)


def test_unknown_language_or_unit_is_refused():
    with pytest.raises(ConfigError, match="'de'"):
        make_tokenizer("de")
    with pytest.raises(ConfigError, match="'bytes'"):
        make_tokenizer("zh", "bytes")


def test_jieba_is_loaded_late_silently_and_without_a_cache(tmp_path):
    code = (
        "import sys; from vatex_jax.text.tokenization import make_tokenizer; t = make_tokenizer('zh');"
        "assert 'jieba' not in sys.modules; print(t.tokenize('男人在跑步。')); assert 'jax' not in sys.modules"
    )
    # A fresh byte-code folder makes Python compile jieba anew, which is when its SyntaxWarnings appear.
    environment = os.environ | {
        "TMPDIR": str(tmp_path),
        "PYTHONPYCACHEPREFIX": str(tmp_path / "pyc"),
        "PYTHONUTF8": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.stdout, done.returncode) == ("['男人', '在', '跑步', '。']\n", 0), done.stderr
    assert "jieba" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"pyc"}
