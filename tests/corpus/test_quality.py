"""Each rule on captions that pass and that do not; the filter keeps pairs parallel."""

import pytest

from vatex_jax.corpus.quality import Checker, Rules, keep, read_sensitive, vatex_record
from vatex_jax.corpus.readers import CorpusVideo
from vatex_jax.errors import ConfigError, DataError

LONG = "A young man in a red shirt is throwing a ball to his dog."
CHINESE = "一个穿着红色上衣的年轻男人正在公园里扔球。"


def checked(*captions, language="en", pairs=0, rules=None, checker=None):
    own = {language: captions}
    video = CorpusVideo("train", "v", tuple(own.get("en", ())), tuple(own.get("zh", ())), pairs)
    return [(one.number, one.rule) for one in (checker or Checker(rules or Rules())).check(video)]


def test_english_needs_eight_words_and_signs_are_none():
    assert checked("one two three a is the seven .") == [(0, "short")]
    assert checked("one two three a is the seven eight") == []
    assert checked("A dog .", rules=Rules(min_english_words=2)) == []


def test_direct_chinese_needs_fifteen_characters_and_translations_do_not():
    fourteen, fifteen = "一" * 14 + "abc，。", "一" * 15
    assert checked(fourteen, language="zh") == [(0, "short")]
    assert checked(fifteen, language="zh") == []
    assert checked("男人在跑。", "女人在跳。", language="zh", pairs=1) == [(0, "short")]


def test_a_repeated_caption_is_rejected_wherever_it_stood_first():
    checker = Checker(Rules())
    first = CorpusVideo("train", "v1", (LONG, LONG.upper()), (CHINESE,))
    found = checker.check(first)
    assert [(one.number, one.rule, one.reason) for one in found] == [
        (1, "repeated", "the same as a caption of this video")
    ]
    second = CorpusVideo("validation", "v2", (f"  {LONG} ",), (CHINESE,))
    assert [(one.language, one.reason) for one in checker.check(second)] == [
        ("en", "the same as a caption of v1"), ("zh", "the same as a caption of v1"),
    ]  # fmt: skip
    assert checker.checked == {"en": 3, "zh": 2}
    assert checker.rejected["en"]["repeated"] == 2


def test_sensitive_words_are_whole_in_english_and_anywhere_in_chinese():
    rules = Rules(sensitive=("red ball", "ass", "坏词"))
    assert checked("A man in a class throws a red BALL to dogs.", rules=rules) == [(0, "sensitive")]
    assert checked("A man in a class throws a red, round ball to dogs.", rules=rules) == []
    assert checked("一个穿着红色上衣的年轻男人说了坏词。", language="zh", rules=rules) == [(0, "sensitive")]
    assert checked(f"{CHINESE}t恤", language="zh", rules=Rules(sensitive=("T恤",))) == [(0, "sensitive")]


@pytest.mark.parametrize(
    "caption",
    [
        "Un hombre está en el parque con su perro y una pelota.",
        "Ein Mann ist mit seinem Hund im Park und wirft den Ball.",
        "Un homme est dans le parc avec son chien et une balle.",
        "Un uomo è nel parco con il suo cane e una palla rossa.",
        "Um homem está no parque com o seu cachorro e uma bola.",
        "一个男人在公园里 one two three four five six seven 跟他的狗玩红色的球",
        "1 2 3 4 5 6 7 8 9 10",
    ],
)
def test_what_is_no_english_is_rejected(caption):
    assert checked(caption, rules=Rules(min_english_words=0)) == [(0, "language")]


def test_what_follows_an_apostrophe_makes_no_caption_longer():
    assert checked("He's doing what he's told to.") == [(0, "short")]  # six words


def test_captions_of_a_video_that_is_left_out_can_be_told_of_another():
    checker = Checker(Rules())
    first, second, third, fourth = (CorpusVideo("train", name, (LONG,)) for name in ("v1", "v2", "v3", "v4"))
    assert checker.check(first) == []
    checker.withdraw(first)
    assert checker.check(second) == []
    checker.withdraw(third)  # whose caption was not the first
    assert [one.rule for one in checker.check(fourth)] == ["repeated"]


@pytest.mark.parametrize(
    "caption",
    [LONG, "A man plays la bamba on el guitarrón in a bar.", "A man watches another man do a bicycle trick ."],
)
def test_english_is_english(caption):
    assert checked(caption, rules=Rules(min_english_words=0)) == []


def test_chinese_may_hold_a_few_foreign_words():
    assert checked("一个rollerblader碾过铁轨。", language="zh", rules=Rules(min_chinese_characters=0)) == []
    assert checked("A man rides on the rail 铁轨。", language="zh", rules=Rules(min_chinese_characters=0)) == [
        (0, "language")
    ]


def test_the_filter_drops_direct_captions_and_videos_whose_pairs_would_shift():
    video = CorpusVideo("train", "v", (LONG, "Short.", "a1", "a2"), ("b", "b1", "b2"), 2)
    rejected = {
        number: one for one in Checker(Rules(min_chinese_characters=1)).check(video) if one.language == "en"
        for number in [one.number]
    }  # fmt: skip
    assert keep(video, [rejected[1]]) == CorpusVideo("train", "v", (LONG, "a1", "a2"), ("b", "b1", "b2"), 2)
    assert keep(video, [rejected[2]]) is None
    assert keep(video, []) == video
    alone = CorpusVideo("train", "v", ("Short.",))
    assert keep(alone, Checker(Rules()).check(alone)) is None


def test_a_layout_that_would_shift_pairs_is_refused():
    with pytest.raises(DataError, match="v has 2 parallel captions, and in VaTeX's layout it would have 5"):
        vatex_record(CorpusVideo("train", "v", ("a",) * 6, ("b",) * 6, 2))
    video = CorpusVideo("train", "v", ("a",) * 6, ("b",) * 9, 5)
    assert vatex_record(video) == {"videoID": "v", "enCap": ["a"] * 6, "chCap": ["b"] * 9}


def test_a_latin_word_is_found_between_chinese_characters():
    rules = Rules(min_chinese_characters=0, sensitive=("fuck",))
    assert checked("他说fuck了你们。", language="zh", rules=rules) == [(0, "sensitive")]
    assert checked("他说fuckers了你们。", language="zh", rules=rules) == []


def test_only_a_caption_that_was_accepted_can_be_repeated():
    short = "一个男人在跑步。"
    video = CorpusVideo("train", "v", (), (short, CHINESE, short, CHINESE), 2)
    assert [(one.number, one.rule) for one in Checker(Rules()).check(video)] == [(0, "short"), (3, "repeated")]


def test_lists_of_sensitive_words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("# a remark\n\n bad word \n坏词\n", encoding="utf-8")
    assert read_sensitive(path) == ("bad word", "坏词")
    path.write_text("  # indented\nword\n***\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"'\*\*\*' holds no letter or digit"):
        read_sensitive(path)
    path.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="holds no word"):
        read_sensitive(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_sensitive(tmp_path / "none")
    with pytest.raises(ConfigError, match="min_english_words is -1"):
        Rules(min_english_words=-1)
