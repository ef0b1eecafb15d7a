"""The readers on damaged and on odd input: a `DataError` or a right result, never anything else."""

import io
import json
import pathlib
import warnings
import zipfile

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from vatex_jax.data.captions import parse_captions
from vatex_jax.data.features import parse_features
from vatex_jax.data.image_features import open_image_features
from vatex_jax.data.visdial_dense import parse_dense
from vatex_jax.data.visdial_files import parse_dialogues
from vatex_jax.data.zip_files import read_zipped
from vatex_jax.errors import DataError

pytestmark = pytest.mark.slow

MUTATIONS = 100_000
FEWER = 15_000  # of files that take longer to read
THOROUGH = hypothesis.settings(
    max_examples=2000, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
)

CAPTIONS = json.dumps(
    [
        {
            "videoID": "-a_000001_000011",
            "enCap": ["A dog runs .", 'Two "dogs" \\ 🐶'],
            "chCap": ["一只狗。", "狗", "犬"],
        },
        {"videoID": "_b_000000_000010", "enCap": ["A bat ."]},
        {"videoID": "c"},
    ],
    ensure_ascii=False,
).encode()
CAPTION_PIECES = (
    *(
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\\",
        b"null",
        b"true",
        b"-1e999",
        b"NaN",
        b"9" * 4400,
        b"\0",
        b"..",
        b"/",
    ),
    *(b"\\u0000", b"\\ud800", b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b'"videoID"', b'"enCap"', b'"chCap": []', b'""'),
    b"[" * 3000,
)
FEATURE_PIECES = (
    *(b"\x93NUMPY", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"'descr'", b"'<f4'", b"'<f8'", b"'|O'", b"'>f2'", b"True"),
    *(
        b"False",
        b"(1, 2, 1024)",
        b"(2, 1024)",
        b"(",
        b")",
        b",",
        b"-1",
        b"99999999999999999999",
        b"0",
        b"L",
        b"'shape': ",
    ),
    *(b"{", b"}", b"\x00\x00\x80\x7f", b"\x00\x00\xc0\x7f", b"\n", b"[('a', '<f4')]", b"#", b"__import__('os')"),
    b"(" * 3000,
)


DIALOGUES = {
    "version": "1.0",
    "data": {
        "questions": ["is it sunny", "有猫吗"],
        "answers": [*(f"a{i}" for i in range(98)), "", "🐶", "no"],
        "dialogs": [
            {
                "image_id": 7 + number,
                "caption": "a bus",
                "dialog": [
                    {"question": 1, "answer": 2 + r, "answer_options": list(range(r, 100 + r)), "gt_index": 2}
                    for r in range(number + 1)
                ],
            }
            for number in range(2)
        ],
    },
}
DIALOGUE_PIECES = (
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"1.0", b"-1", b"NaN", b"1e9", b"101", b"9" * 30),
    *(b'"dialog"', b'"answer"', b'"gt_index"', b'{"dialog": 1}', b"[]", b"\\ud800", b"\0", b"[" * 3000, b"9" * 4400),
)
DENSE_RECORD = {"image_id": 8, "round_id": 2, "gt_relevance": [1, 0.4] + [0] * 98}
DENSE = json.dumps([DENSE_RECORD, {"image_id": 7, "round_id": 1, "relevance": [0.0] * 100}]).encode()
ZIP_PIECES = (
    *(b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"\xff\xff\xff\xff", b"\0\0\0\0"),
    *(b"\x08\x00", b"\x01\x00", b"../", b"/", b"\xff\xff", b"\x0c\x00", b"\x01\x00\x10\x00"),
)


def saved(array: np.ndarray, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def mutate(data: bytes, rng: np.random.Generator, pieces: tuple[bytes, ...], head: int) -> bytes:
    """One to four changes of a bit, a byte, a span or the end, half of them among the first `head` bytes."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        reach = len(changed) if rng.random() < 0.5 else min(head, len(changed))
        at = int(rng.integers(0, reach + 1))
        span = int(rng.integers(1, 9))
        match int(rng.integers(0, 7)):
            case 0 if at < len(changed):
                changed[at] ^= 1 << int(rng.integers(0, 8))
            case 1 if at < len(changed):
                changed[at] = int(rng.integers(0, 256))
            case 2:
                del changed[at : at + span]
            case 3:
                changed[at:at] = rng.bytes(span)
            case 4:
                changed[at:at] = changed[max(0, at - span) : at]
            case 5:
                piece = pieces[rng.integers(0, len(pieces))]
                changed[at : at + (len(piece) if rng.random() < 0.5 else 0)] = piece
            case 6 if rng.random() < 0.3:
                del changed[at:]
    return bytes(changed)


def not_taken(error: DataError, name: str) -> bool:
    assert str(error).startswith(name)
    return False


def check_captions(data: bytes) -> bool:
    """Whether the reader takes these bytes; if it does, its result must be right and fit to be used."""
    try:
        videos = parse_captions(data, "f.json")
    except DataError as error:
        return not_taken(error, "f.json")
    records = json.loads(data.decode("utf-8-sig"))
    assert [(v.video_id, list(v.en), list(v.zh)) for v in videos] == [
        (record["videoID"], record.get("enCap", []), record.get("chCap", [])) for record in records
    ]
    ids = [video.video_id for video in videos]
    assert len(set(ids)) == len(ids) > 0
    for video in videos:
        assert 0 < len(video.video_id.encode("utf-8")) <= 251
        assert not set(video.video_id) & set("/\\\0\n")
        assert video.video_id not in (".", "..")
        for caption in video.en + video.zh:
            assert caption.strip()
            assert b"\0" not in caption.encode("utf-8")
    return True


def check_features(data: bytes) -> bool:
    """The same of the feature reader, with NumPy's reader as the oracle."""
    try:
        values = parse_features(data, "f.npy")
    except DataError as error:
        return not_taken(error, "f.npy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of headers that Python 2 wrote
        oracle = np.load(io.BytesIO(data), allow_pickle=False)
    assert values.dtype == np.float32
    assert values.ndim == 2
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(values, oracle.reshape(-1, 1024).astype(np.float32))
    return True


def test_mutated_caption_files():
    rng = np.random.default_rng(0)
    taken = sum(check_captions(mutate(CAPTIONS, rng, CAPTION_PIECES, len(CAPTIONS))) for _ in range(MUTATIONS))
    assert 0.02 * MUTATIONS < taken < 0.8 * MUTATIONS


def test_mutated_feature_files():
    rng = np.random.default_rng(0)
    ones = np.ones((1, 2, 1024), np.float32)
    originals = [
        saved(ones),
        saved(rng.normal(size=(1, 1024)).astype(np.float16)),
        saved(np.asarray(rng.normal(size=(2, 1024)), order="F")),
        saved(ones.astype(">f4"), (3, 0)),
        saved(ones, (2, 0)),
    ]
    taken = sum(check_features(mutate(originals[i % 5], rng, FEATURE_PIECES, 140)) for i in range(MUTATIONS))
    assert 0.02 * MUTATIONS < taken < 0.8 * MUTATIONS


def check_dialogues(data: bytes) -> bool:
    """The same of the reader of dialogues, with Python's own as the oracle."""
    path = pathlib.Path("f.json")
    try:
        file = parse_dialogues(data.decode("utf-8", "surrogatepass"), path, "1.0", "train")
    except DataError as error:
        return not_taken(error, "f.json")
    except UnicodeDecodeError:
        return False
    content = json.loads(data)["data"]
    texts = content["answers"]
    for index, dialogue in enumerate(content["dialogs"]):
        assert file.image_id[index] == dialogue["image_id"]
        assert file.captions[index] == dialogue["caption"]
        assert file.rounds[index] == len(dialogue["dialog"])
        for number, turn in enumerate(dialogue["dialog"]):
            options = [file.answer_table[option] for option in file.options[index, number]]
            assert options == [texts[option] for option in turn["answer_options"]]
            assert len(set(options)) == 100
            assert options[file.gt_index[index, number]] == texts[turn["answer"]]
            assert file.question_table[file.questions[index, number]] == content["questions"][turn["question"]]
    assert len(set(file.answer_table)) == len(file.answer_table)
    return True


def check_dense(data: bytes, dialogues: object) -> bool:
    """The same of the reader of annotations."""
    try:
        dense = parse_dense(data.decode("utf-8", "replace"), pathlib.Path("f.json"), dialogues)
    except DataError as error:
        return not_taken(error, "f.json")
    records = json.loads(data.decode("utf-8", "replace"))
    assert (dense.round >= 0).sum() + dense.dropped == len(records)
    assert ((dense.relevance >= 0) & (dense.relevance <= 1)).all()
    return True


def test_mutated_dialogue_files():
    rng = np.random.default_rng(0)
    data = json.dumps(DIALOGUES, ensure_ascii=False).encode()
    taken = sum(check_dialogues(mutate(data, rng, DIALOGUE_PIECES, 60)) for _ in range(FEWER))
    assert 0.02 * FEWER < taken < 0.8 * FEWER


def test_mutated_annotations():
    rng = np.random.default_rng(0)
    dialogues = parse_dialogues(json.dumps(DIALOGUES), pathlib.Path("d.json"), "1.0", "train")
    taken = sum(check_dense(mutate(DENSE, rng, DIALOGUE_PIECES, 60), dialogues) for _ in range(FEWER))
    assert 0.02 * FEWER < taken < 0.8 * FEWER


def test_mutated_archives(tmp_path):
    """Nothing but a `DataError`, or the very content; nothing ever appears beside the archive."""
    rng = np.random.default_rng(0)
    path = tmp_path / "visdial_1.0_train.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("f.json", CAPTIONS)
    original, taken = path.read_bytes(), 0
    for _ in range(FEWER):
        path.write_bytes(mutate(original, rng, ZIP_PIECES, len(original)))
        try:
            assert read_zipped(path, "f.json") == CAPTIONS
            taken += 1
        except DataError as error:
            not_taken(error, str(path))
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert 0 < taken < FEWER


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_mutated_feature_tables(ending, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / f"f.{ending}"
    image_ids, features = np.array([3, 1]), rng.normal(size=(2, 5)).astype(np.float32)
    if ending == "npz":
        np.savez(path, image_ids=image_ids, features=features)
    else:
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["image_ids"], file["features"] = image_ids, features
    original, taken = path.read_bytes(), 0
    for _ in range(FEWER // 15):
        path.unlink()  # HDF5 still holds the file of the one before
        path.write_bytes(mutate(original, rng, ZIP_PIECES + FEATURE_PIECES, len(original)))
        try:
            found = open_image_features([path])
            for image_id in (3, 1):
                if image_id in found:
                    assert np.isfinite(found[image_id]).all()
            taken += 1
        except DataError as error:
            not_taken(error, str(path))
    assert 0 < taken < FEWER // 15


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
TEXT = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["狗。", "A dog .", "🐶", " ", "\u200b"]
)
GOOD_LIST = st.lists(st.text("abc 狗。", min_size=1, max_size=6).filter(str.strip), max_size=4)
CAPTION_LIST = GOOD_LIST | GOOD_LIST | GOOD_LIST | st.lists(TEXT | ANY_JSON, max_size=4) | ANY_JSON
GOOD_ID = st.text("abcdefghij-_.", min_size=1, max_size=12)
RECORD = st.fixed_dictionaries(
    {"videoID": GOOD_ID | GOOD_ID | GOOD_ID | TEXT | ANY_JSON}, optional={"enCap": CAPTION_LIST, "chCap": CAPTION_LIST}
)


@THOROUGH
@hypothesis.given(
    records=st.lists(RECORD, min_size=1, max_size=4) | st.lists(RECORD | ANY_JSON, max_size=4) | ANY_JSON,
    ascii_only=st.booleans(),
    mark=st.booleans(),
)
def test_structured_caption_files(records, ascii_only, mark):
    text = json.dumps(records, ensure_ascii=ascii_only)
    check_captions((b"\xef\xbb\xbf" if mark else b"") + text.encode("utf-8", "surrogatepass"))


@st.composite
def feature_files(draw: st.DrawFn) -> bytes:
    """Arrays of any type and shape, saved in any way, some with a value or the end spoilt."""
    shape = draw(
        st.sampled_from([(1, 1, 1024), (3, 1024), (1, 2, 1024), (0, 1024), (1, 0, 1024), (2, 2, 1024), (1024,), ()])
        | st.lists(st.integers(0, 4), max_size=4).map(tuple)
    )
    dtype = np.dtype(
        draw(
            st.sampled_from(["<f2", "<f4", "<f8", ">f4", ">f8"])
            | st.sampled_from(["<i4", "<i8", "|b1", "<c8", "<U3", "|S2", "<M8[s]", "<f4,<f8", "|O"])
        )
    )
    values = np.random.default_rng(draw(st.integers(0, 99))).normal(size=shape) * 10
    array = np.zeros(shape, dtype) if dtype.kind not in "fiucb" else np.asarray(values).astype(dtype)
    if dtype.kind == "f" and array.size and draw(st.integers(0, 3)) == 0:
        array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from([np.nan, np.inf, -np.inf, 6e4]))
    array = np.asarray(array, order=draw(st.sampled_from("CF")))
    data = saved(array, draw(st.sampled_from([None, (1, 0), (2, 0), (3, 0)])))
    keep = draw(st.just(len(data)) | st.integers(0, len(data)))
    return data[:keep] + draw(st.just(b"") | st.just(b"") | st.binary(max_size=8))


@THOROUGH
@hypothesis.given(
    data=feature_files() | st.binary(max_size=200) | st.binary(max_size=100).map(b"\x93NUMPY\x01\x00".__add__)
)
def test_structured_feature_files(data):
    check_features(data)


def any_of(value: object) -> st.SearchStrategy:
    """The value itself, mostly, or anything."""
    return st.just(value) | st.just(value) | st.just(value) | ANY_JSON


@st.composite
def dialogue_files(draw: st.DrawFn) -> bytes:
    """Files of the right form in which any field may be anything, or absent."""

    def rounds() -> object:
        options = list(range(100))
        if draw(st.booleans()):
            options[draw(st.integers(0, 99))] = draw(ANY_JSON | st.integers(-1, 102))
        made = {"question": 0, "answer": 3, "answer_options": draw(any_of(options)), "gt_index": 3}
        made = {field: draw(any_of(value)) for field, value in made.items()}
        return {field: made[field] for field in made if draw(st.integers(0, 9))}

    dialogs = [
        {"image_id": draw(any_of(i)), "caption": draw(any_of("a")), "dialog": draw(any_of([rounds()]))}
        for i in range(2)
    ]
    data = {"questions": draw(any_of(["q"])), "answers": draw(any_of(DIALOGUES["data"]["answers"]))}
    return json.dumps({"data": draw(any_of(data | {"dialogs": draw(any_of(dialogs))}))}).encode()


@hypothesis.settings(THOROUGH, max_examples=400)  # such a file takes long to draw
@hypothesis.given(data=dialogue_files())
def test_structured_dialogue_files(data):
    check_dialogues(data)
