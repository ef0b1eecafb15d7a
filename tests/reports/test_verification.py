"""The two commands: pages that tell nothing they should not, and results read back."""

import hashlib
import json
import re

import pytest

from vatex_jax.reports import verification
from vatex_jax.reports.verification_results import SCHEMA
from vatex_jax.reports.verification_tasks import read_batch


@pytest.fixture
def sets(tmp_path):
    """Two files of reference sets, H.json and sigma.json; their folder."""
    for name, last in (("H", "indeed"), ("sigma", "surely")):
        records = [
            {"image_id": number, "round_id": 0, "in_cluster_idxs": [1] * 3, "refs": ["yes", "yes it is", last],
             "question": "is it sunny?", "gt_answer": "yes it is"}
            for number in range(10)
        ]  # fmt: skip
        (tmp_path / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
    return tmp_path


def make(sets, *arguments) -> int:
    return verification.main(["make", str(sets / "H.json"), *arguments, f"--out={sets / 'out'}"])


def data_of(path) -> dict:
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])


def saved(folder, annotator, untick=()) -> None:
    """Writes what a person's page would save after every task was confirmed."""
    data = data_of(folder / "verify.html")
    tasks = [{"id": task["id"], "done": True, "seconds": 5, "image": "none",
              "ticked": [place for place, text in enumerate(task["answers"]) if text not in untick]}
             for task in data["tasks"]]  # fmt: skip
    value = {
        "schema": SCHEMA,
        "batch": data["batch"],
        "file": "verify",
        "annotator": annotator,
        "saved": "2024-01-01T00:00:00.000Z",
    }
    (folder / f"{annotator}.json").write_text(json.dumps(value | {"tasks": tasks}), encoding="utf-8")


def test_a_page_knows_neither_sources_nor_ground_truths(sets, capsys):
    assert make(sets, f"S={sets / 'sigma.json'}", "--tasks=5") == 0
    assert re.search(r"10 tasks, 4 to a page\n  H: 5\n  S: 5\n", capsys.readouterr().out)
    data = data_of(sets / "out" / "verify.html")
    assert {key for task in data["tasks"] for key in task} == {"id", "page", "image", "image_id", "question", "answers"}
    assert [task["page"] for task in data["tasks"]] == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    batch = read_batch(sets / "out")
    assert [task.id for task in batch.tasks] == [task["id"] for task in data["tasks"]]
    assert [list(task.answers) for task in batch.tasks] == [task["answers"] for task in data["tasks"]]
    assert not {"source", "made", "ground_truth"} & data.keys()


def test_what_data_the_sets_are_of_is_kept_and_told_but_not_on_the_page(sets, capsys):
    dataset = {"name": "visdial_sim/default", "version": "1.0.0", "split": "test", "simulated": True, "stand_in": False}
    digest = hashlib.sha256((sets / "sigma.json").read_bytes()).hexdigest()
    manifest = {"sets": 10, "sha256": digest, "dataset": dataset}
    (sets / "sigma.json.manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert make(sets, f"S={sets / 'sigma.json'}", "--tasks=5") == 0
    said = "visdial_sim/default 1.0.0: SIMULATED, test split"
    assert f"  H: 5\n  S: 5, {said}\n" in capsys.readouterr().out
    assert read_batch(sets / "out").origins == {"S": said}
    assert "SIMULATED" not in (sets / "out" / "verify.html").read_text(encoding="utf-8")
    saved(sets / "out", "ann")
    assert verification.main(["read", str(sets / "out")]) == 0
    assert f"S     {said}" in capsys.readouterr().out


def test_the_pages_may_be_spread_over_files(sets):
    assert make(sets, "--files=2") == 0
    first, second = (data_of(sets / "out" / f"verify-{number}.html") for number in (1, 2))
    assert (first["file"], second["file"]) == ("verify-1", "verify-2")
    assert first["batch"] == second["batch"]
    assert [task["page"] for task in first["tasks"] + second["tasks"]] == [1] * 4 + [2] * 4 + [3] * 2
    assert {task["page"] for task in first["tasks"]} == {1}


def test_pictures_are_named_and_missing_ones_counted(sets, capsys, monkeypatch):
    monkeypatch.chdir(sets)
    (sets / "img").mkdir()
    for number in range(9):
        (sets / "img" / f"{number:03d}.jpg").touch()
    assert make(sets, "--images=img/{image_id:03}.jpg") == 0
    assert "1 of 10 pictures are missing, img/009.jpg the first" in capsys.readouterr().out
    for task in data_of(sets / "out" / "verify.html")["tasks"]:
        assert task["image"] == f"../img/{task['image_id']:03d}.jpg"


def test_a_host_that_pictures_come_from_is_said_on_the_page(sets):
    assert make(sets, "--images=https://a.example/{image_id}") == 0
    assert "https://a.example, which sees" in data_of(sets / "out" / "verify.html")["privacy"]


def test_the_same_batch_is_written_anew_and_another_one_is_not_mixed_in(sets, capsys):
    assert make(sets) == 0
    assert make(sets, "--title=Another title") == 0
    assert make(sets, "--seed=1") == 2
    assert "holds another batch" in capsys.readouterr().err
    assert data_of(sets / "out" / "verify.html")["title"] == "Another title"


def test_results_are_read_from_beside_the_page(sets, capsys):
    assert make(sets, f"S={sets / 'sigma.json'}") == 0
    saved(sets / "out", "ann", untick=["yes"])
    saved(sets / "out", "bob")
    capsys.readouterr()
    assert verification.main(["read", str(sets / "out")]) == 0
    text = capsys.readouterr().out
    assert "40 judgements of 2 annotators" in text
    assert re.search(r"% of the set selected \(variance\) +83\.33 \(0\.00\) +83\.33 \(0\.00\) +81\.48", text)
    assert re.search(r"suspicious +bob +unticked nothing in all 20", text)


def test_results_elsewhere_need_the_batch_named(sets, tmp_path, capsys):
    assert make(sets) == 0
    saved(sets / "out", "ann", untick=["yes"])
    away = tmp_path / "away" / "in" / "ann.json"
    away.parent.mkdir(parents=True)
    (sets / "out" / "ann.json").rename(away)
    assert verification.main(["read", str(away)]) == 2
    assert "--batch=FOLDER" in capsys.readouterr().err
    assert verification.main(["read", str(away), f"--batch={sets / 'out'}", "--format=csv"]) == 0
    out = capsys.readouterr()
    assert "H,selected,66.66" in out.out
    assert out.err == ""


def test_doubts_do_not_get_into_csv(sets, capsys):
    assert make(sets) == 0
    saved(sets / "out", "bob")
    capsys.readouterr()
    assert verification.main(["read", str(sets / "out" / "bob.json"), "--format=csv"]) == 0
    out = capsys.readouterr()
    assert "suspicious" not in out.out
    assert "suspicious" in out.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--files=4"], "1 to 3 files"),
        (["--tasks=0"], "--tasks=0"),
        (["--images=a.jpg"], "{image_id}"),
        (["H=nothing.json"], "two files have one name"),
        (["nothing.json"], "nothing.json: no such file"),
    ],
)
def test_what_cannot_be_made_is_told_and_leaves_nothing(arguments, said, sets, monkeypatch, capsys):
    monkeypatch.chdir(sets)
    assert make(sets, *arguments) == 2
    assert said.lower() in capsys.readouterr().err.lower()
    assert not (sets / "out").exists()


@pytest.mark.parametrize("arguments", [["--title=\udcff"], ["--images=\udcff/{image_id}"], ["\udcff=H.json"]])
def test_words_that_are_no_text_are_told(arguments, sets, monkeypatch, capsys):
    monkeypatch.chdir(sets)
    assert make(sets, *arguments) == 2
    assert "is no text in UTF-8" in capsys.readouterr().err
    assert not (sets / "out").exists()


def test_half_a_character_in_a_question_is_shown_and_kept(sets, capsys):
    records = json.loads((sets / "H.json").read_text())
    records[0] |= {"question": "\ud83d?", "refs": ["yes", "\udc00", "红 🐟"]}
    (sets / "H.json").write_text(json.dumps(records))
    assert make(sets) == 0
    batch = read_batch(sets / "out")
    (task,) = [task for task in batch.tasks if task.image_id == 0]
    assert task.question == "\ud83d?"
    assert {"yes", "\udc00", "红 🐟"} == {*task.answers}
    shown = data_of(sets / "out" / "verify.html")["tasks"]
    assert [one["question"] for one in shown] == [task.question for task in batch.tasks]


def test_a_page_is_never_without_its_tasks(sets, monkeypatch, capsys):
    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(verification, "write_text_whole", fail)
        assert make(sets) == 2
    assert capsys.readouterr().err == "error: No space left on device\n"
    assert [path.name for path in (sets / "out").iterdir()] == ["tasks.json"]
    assert make(sets) == 0
    with monkeypatch.context() as patch:
        patch.setattr(verification, "write_batch", fail)
        assert verification.main(["make", str(sets / "H.json"), f"--out={sets / 'other'}"]) == 2
    assert not (sets / "other" / "verify.html").exists()


def test_a_folder_that_cannot_be_is_told(sets, capsys):
    (sets / "out").touch()
    assert make(sets) == 2
    assert "out" in capsys.readouterr().err
    assert verification.main(["read", str(sets / "nowhere.json"), f"--batch={sets}"]) == 2
