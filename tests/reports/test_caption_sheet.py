"""Caption sheets: runs of one name in two folders, runs of different videos, and files that are no predictions."""

import json

import pytest

from vatex_jax.errors import DataError
from vatex_jax.reports import caption_sheet


@pytest.fixture
def write(tmp_path):
    """A function from a folder's name and captions by video to the run's folder."""

    def make(name: str, captions: dict[str, str]):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        lines = [
            {"video_id": video, "en": {"n_best": [{"text": text}], "references": ["a dog runs", "a dog", "it runs"]}}
            for video, text in captions.items()
        ]
        (folder / "predictions.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
        return folder

    return make


def test_runs_of_one_name_are_told_apart_by_their_folders(write, tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(caption_sheet, "draw_sheet", lambda predictions, path, note, videos: drawn.update(predictions))
    runs = [str(write(f"seed{seed}/shared_enc", {"v": f"dog {seed}"})) for seed in (0, 1)]
    assert caption_sheet.main([*runs, f"--out={tmp_path / 'sheet.png'}"]) == 0
    assert list(drawn) == runs
    drawn.clear()
    assert caption_sheet.main([runs[0], f"--out={tmp_path / 'sheet.png'}"]) == 0
    assert list(drawn) == ["shared_enc"]


def test_a_sheet_shows_every_run_and_two_references(write):
    runs = {name: write(name, {"v": f"{name} says"}) / "predictions.jsonl" for name in ("one", "two")}
    lines = caption_sheet.sheet_lines({name: caption_sheet.read_predictions(path) for name, path in runs.items()}, 5)
    assert [(label, text) for label, text, _ in lines] == [
        ("v", ""),
        ("one, en", "one says"),
        ("two, en", "two says"),
        ("  reference, en", "a dog runs"),
        ("  reference, en", "a dog"),
        ("", ""),
    ]


def test_runs_of_other_videos_are_refused(write, tmp_path, capsys):
    runs = [str(write(name, {video: "a dog"})) for name, video in (("one", "v1"), ("two", "v2"))]
    assert caption_sheet.main([*runs, f"--out={tmp_path / 'sheet.png'}"]) == 2
    assert "predictions of two lack the video 'v1'" in capsys.readouterr().err
    assert not (tmp_path / "sheet.png").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--videos=0", "--out=a.png"], "1 or more"),
        (["--out=a.pdf"], "ends in .png"),
        (["--out=a.png"], "holds no captioning run"),
        (["--out=missing/a.png"], "there is no folder missing"),
    ],
)
def test_what_cannot_be_drawn_is_told(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert caption_sheet.main([str(tmp_path / "nothing"), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_picture_cannot_take_a_folders_place_or_go_where_nothing_can_be_written(write, tmp_path, monkeypatch, capsys):
    run = str(write("run", {"v": "a dog"}))
    (tmp_path / "sheet.png").mkdir()
    assert caption_sheet.main([run, f"--out={tmp_path / 'sheet.png'}"]) == 2
    assert "is a folder: name a file in it" in capsys.readouterr().err

    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied", "elsewhere")

    monkeypatch.setattr(caption_sheet, "draw_sheet", refuse)
    assert caption_sheet.main([run, f"--out={tmp_path / 'other.png'}"]) == 2
    assert "other.png: cannot be written (Permission denied)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]\n",
        "[" * 100_000,
        '{"video_id": "v", "en": {"n_best": []}}\n',
        '{"video_id": ["v"]}\n',
        '{"video_id": 7, "en": {"n_best": [{"text": "a"}], "references": ["b"]}}\n',
        '{"video_id": "v", "en": {"n_best": [{"text": 1}], "references": ["b"]}}\n',
        '{"video_id": "v", "en": {"n_best": [{"text": "a"}], "references": [null]}}\n',
        '{"video_id": "v", "en": {"n_best": [{"text": "a"}], "references": "ab"}}\n',
    ],
)
def test_what_is_no_captioning_run_is_named(text, tmp_path):
    path = tmp_path / "predictions.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"predictions\.jsonl"):
        caption_sheet.read_predictions(path)
