"""Collecting captions without a browser: tasks, hidden systems, both stages gathered, what is refused."""

import json

import pytest

from vatex_jax.data.captions import CaptionedVideo
from vatex_jax.errors import ConfigError, DataError
from vatex_jax.reports import collection
from vatex_jax.reports.collection_tasks import (
    CollectionTask,
    direct_batch,
    link,
    postedit_batch,
    read_batch,
    review_batch,
    write_batch,
)

SYSTEMS = ("google", "own", "third")


def videos(count=4):
    return [CaptionedVideo(f"v{n}", tuple(f"caption {n}.{i}" for i in range(10)), ()) for n in range(count)]


def translations(name, count=4):
    return {f"v{n}&{i}": f"{name} 译 {n} {i}" for n in range(count) for i in range(5)}


def systems(count=4):
    return {name: translations(name, count) for name in SYSTEMS}


def saved(path, batch, kind, annotator, entries, when="2026-01-01T00:00:00.000Z"):
    value = {
        "schema": collection.SCHEMA, "batch": batch.id, "file": kind, "annotator": annotator, "saved": when,
        "tasks": [{"done": True, "seconds": 2.5, "comment": "", **entry} for entry in entries],
    }  # fmt: skip
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_a_video_shows_the_last_five_captions_and_all_systems_in_one_hidden_order():
    batch = postedit_batch(videos(40), systems(40), seed=1)
    orders = set()
    for number, task in enumerate(batch.tasks):
        assert task.sources == tuple(f"caption {number}.{i}" for i in range(5, 10))
        assert sorted(task.systems) == sorted(SYSTEMS)
        orders.add(task.systems)
        for i, texts in enumerate(task.references):
            assert texts == tuple(f"{name}译{number} {i}" for name in task.systems)
    assert len(orders) == 6  # of 3 systems
    assert postedit_batch(videos(40), systems(40), seed=1) == batch
    assert postedit_batch(videos(40), systems(40), seed=2) != batch
    # A video's order does not depend on the others.
    assert postedit_batch(videos(40)[7:8], systems(40), seed=1).tasks[0] == batch.tasks[7]


def test_a_batch_survives_its_file_and_notices_a_change(tmp_path):
    for batch in (
        direct_batch(videos(), 15), postedit_batch(videos(), systems(), 0),
        review_batch([(CollectionTask("v", 1), "ann", ["文"])]),
    ):  # fmt: skip
        folder = tmp_path / batch.kind
        write_batch(batch, folder, {})
        assert read_batch(folder) == batch
        path = folder / "tasks.json"
        path.write_text(path.read_text(encoding="utf-8").replace('"video_id": "v', '"video_id": "w'), encoding="utf-8")
        with pytest.raises(DataError, match="was changed"):
            read_batch(folder)


def test_the_page_knows_nothing_of_systems_and_writers(tmp_path):
    batch = postedit_batch(videos(), {"secret_one": translations("x"), "secret_two": translations("y")}, 0)
    assert "secret" not in collection.make_page(batch, tmp_path / "p").read_text(encoding="utf-8")
    review = review_batch([(batch.tasks[0], "hidden_person", ["一"] * 5)])
    assert "hidden_person" not in collection.make_page(review, tmp_path / "r").read_text(encoding="utf-8")
    assert "hidden_person" in (tmp_path / "r" / "tasks.json").read_text(encoding="utf-8")


def test_links_to_videos():
    clip = "Bfyp0C02sko_000248_000258"
    assert link(clip, "") == "https://www.youtube.com/watch?v=Bfyp0C02sko&t=248s"
    assert link("video7", "") == ""
    assert link('a"b/../c', "clips/{video_id}.mp4") == "clips/a%22b%2F..%2Fc.mp4"


def test_both_stages_as_commands(tmp_path, capsys):
    captions = tmp_path / "captions.json"
    captions.write_text(
        json.dumps([{"videoID": f"v{n}", "enCap": list(video.en)} for n, video in enumerate(videos(3))])
    )
    files = []
    for name in SYSTEMS[:2]:
        (tmp_path / f"{name}.json").write_text(json.dumps(translations(name)), encoding="utf-8")
        files.append(f"{name}={tmp_path / name}.json")
    work, review, out = (tmp_path / name for name in ("work", "review", "out"))
    assert collection.main(["postedit", str(captions), *files, f"--out={work}", "--limit=2"]) == 0
    batch = read_batch(work)
    assert len(batch.tasks) == 2
    first, second = batch.tasks
    copied = first.references[0][first.systems.index("google")]
    one = saved(tmp_path / "one.json", batch, "postedit", "ann", [
        {"id": first.id, "texts": [copied, "二", "三", "四", "五"]}, {"id": second.id, "texts": ["六"] * 5},
    ])  # fmt: skip
    two = saved(tmp_path / "two.json", batch, "postedit", "bob", [
        {"id": first.id, "texts": ["甲"] * 5}, {"id": second.id, "texts": ["乙"] * 5, "done": False},
    ])  # fmt: skip
    assert collection.main(["review", str(one), str(two), f"--batch={work}", f"--out={review}"]) == 0
    judged = read_batch(review)
    assert sorted((task.video_id, task.annotator) for task in judged.tasks) == [
        ("v0", "ann"), ("v0", "bob"), ("v1", "ann"),
    ]  # fmt: skip
    verdicts = {
        ("v0", "ann"): [True] * 5,
        ("v0", "bob"): [True] * 4 + [False],
        ("v1", "ann"): [True, False, True, True, True],
    }
    entries = [{"id": t.id, "approved": verdicts[t.video_id, t.annotator], "comment": "why"} for t in judged.tasks]
    three = saved(tmp_path / "three.json", judged, "review", "carl", entries)
    four = saved(tmp_path / "four.json", judged, "review", "ann", [
        {"id": task.id, "approved": [True] * 5} for task in judged.tasks if task.annotator == "ann"
    ])  # fmt: skip
    capsys.readouterr()
    results = [str(path) for path in (one, two, three, four)]
    assert collection.main(["gather", *results, f"--batch={work}", f"--review={review}", f"--out={out}"]) == 0
    said = capsys.readouterr().out
    assert "ann reviewed their own captions" in said
    assert "1 of 2 videos are complete and approved" in said
    assert json.loads((out / "captions.json").read_text(encoding="utf-8")) == [
        {"videoID": "v0", "enCap": list(first.sources), "chCap": [copied, "二", "三", "四", "五"]}
    ]
    records = [json.loads(line) for line in (out / "collected.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(records) == 15
    by_place = {(r["video_id"], r["annotator"], r["number"]): r for r in records}
    assert by_place["v0", "ann", 0]["copied_from"] == ["google"]
    assert by_place["v0", "ann", 0]["reviewer"] == "carl"
    assert by_place["v1", "ann", 0]["approved"] is True
    assert by_place["v0", "bob", 4] | {"seconds": 0} == {
        "video_id": "v0", "source": first.sources[4], "number": 4, "text": "甲", "annotator": "bob", "seconds": 0,
        "reviewer": "carl", "approved": False, "comment": "why", "copied_from": [],
    }  # fmt: skip
    rows = {line.split()[0]: line.split() for line in said.splitlines() if line.startswith(("ann ", "bob "))}
    assert rows["ann"][1] == "10"
    assert "blocked" in " ".join(rows["bob"])


def test_equal_texts_of_one_task_have_their_own_verdicts(tmp_path):
    batch = postedit_batch(videos(1), systems(1), 0)
    (task,) = batch.tasks
    written = saved(tmp_path / "w.json", batch, "postedit", "ann", [{"id": task.id, "texts": ["同"] * 5}])
    review = review_batch([(task, "ann", ["同"] * 5)])
    verdict = [True, False, True, True, True]
    judged = saved(tmp_path / "r.json", review, "review", "eve", [{"id": review.tasks[0].id, "approved": verdict}])
    for folder, one in (("b", batch), ("r", review)):
        write_batch(one, tmp_path / folder, {})
    arguments = [str(written), str(judged), f"--batch={tmp_path / 'b'}", f"--review={tmp_path / 'r'}"]
    assert collection.main(["gather", *arguments, f"--out={tmp_path / 'out'}"]) == 0
    lines = (tmp_path / "out" / "collected.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["approved"] for line in lines] == verdict


def test_direct_captions_alone_are_gathered_unreviewed(tmp_path, capsys):
    captions = tmp_path / "captions.json"
    captions.write_text(json.dumps([{"videoID": "v0", "enCap": ["x"]}]))
    assert collection.main(["direct", str(captions), f"--out={tmp_path / 'd'}"]) == 0
    batch = read_batch(tmp_path / "d")
    assert (batch.kind, batch.least, batch.tasks[0].count) == ("direct", 15, 5)
    path = saved(
        tmp_path / "x.json",
        batch,
        "direct",
        "ann",
        [{"id": batch.tasks[0].id, "texts": [s * 15 for s in "一二三四五"]}],
    )
    assert collection.main(["gather", str(path), f"--batch={tmp_path / 'd'}", f"--out={tmp_path / 'out'}"]) == 0
    assert json.loads((tmp_path / "out" / "captions.json").read_text()) == []  # nobody has approved it
    assert "0 of 1 videos" in capsys.readouterr().out


def test_what_the_page_would_not_let_pass_does_not_count(tmp_path, capsys):
    batch = direct_batch(videos(1), 15)
    write_batch(batch, tmp_path / "d", {})
    good = [s * 15 for s in "一二三四五"]
    for texts, message in (
        ([*good[:4], "太短"], "caption 5 has fewer than 15"), ([*good[:4], good[0]], "two captions are the same"),
        ([*good[:4], good[4] + "\ud800"], "half a character"), (["hello"] * 5, "caption 1 has fewer"),
    ):  # fmt: skip
        path = saved(tmp_path / "x.json", batch, "direct", "ann", [{"id": batch.tasks[0].id, "texts": texts}])
        assert collection.main(["gather", str(path), f"--batch={tmp_path / 'd'}", f"--out={tmp_path / 'out'}"]) == 2
        assert message in capsys.readouterr().err


def test_of_a_reviewer_the_last_verdict_counts_and_nobody_reviews_themselves(tmp_path):
    batch = postedit_batch(videos(1), systems(1), 0)
    (task,) = batch.tasks
    written = saved(tmp_path / "w.json", batch, "postedit", "bob", [{"id": task.id, "texts": ["好"] * 5}])
    reviews = [
        review_batch([(task, "bob", ["好"] * 5)]),
        review_batch([(task, "bob", ["好"] * 5), (task, "x", ["好"] * 5)]),
    ]
    times = ("2026-01-02T00:00:00.000Z", "2026-01-01T00:00:00.000Z")
    files = [str(written)]
    for number, (review, when) in enumerate(zip(reviews, times, strict=True)):
        write_batch(review, tmp_path / f"r{number}", {})
        entry = {"id": review.tasks[0].id, "approved": [number == 0] * 5}
        files.append(str(saved(tmp_path / f"e{number}.json", review, "review", "eve", [entry], when)))
        entry = {"id": review.tasks[0].id, "approved": [False] * 5}
        files.append(str(saved(tmp_path / f"s{number}.json", review, "review", "Bob", [entry])))
    write_batch(batch, tmp_path / "b", {})
    folders = [f"--review={tmp_path / name}" for name in ("r0", "r1", "r0")]
    out = tmp_path / "out"
    assert collection.main(["gather", *files, f"--batch={tmp_path / 'b'}", *folders, f"--out={out}"]) == 0
    records = [json.loads(line) for line in (out / "collected.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(record["reviewer"], record["approved"]) for record in records} == {("eve", True)}


def test_batches_are_taken_for_what_they_are(tmp_path, capsys):
    batch = postedit_batch(videos(1), systems(1), 0)
    review = review_batch([(batch.tasks[0], "ann", ["好"] * 5)])
    for folder, one in (("b", batch), ("r", review)):
        write_batch(one, tmp_path / folder, {})
    path = saved(tmp_path / "x.json", batch, "postedit", "ann", [{"id": batch.tasks[0].id, "texts": ["好"] * 5}])
    b, r, out = (f"{tmp_path / name}" for name in ("b", "r", "o"))
    for arguments, message in (
        (["gather", str(path), f"--batch={r}", f"--out={out}"], "is a review"),
        (["gather", str(path), f"--batch={b}", f"--review={b}", f"--out={out}"], "is no review"),
        (["review", str(path), f"--batch={r}", f"--out={out}"], "is a review already"),
    ):
        assert collection.main(arguments) == 2
        assert message in capsys.readouterr().err
    other = saved(tmp_path / "y.json", review, "review", "eve", [{"id": review.tasks[0].id, "approved": [True] * 5}])
    assert collection.main(["review", str(other), f"--batch={b}", f"--out={out}"]) == 2
    assert "is of another batch than --batch names" in capsys.readouterr().err
    for approved in ("xxxxx", 5, [2, "no", [], {}, 0]):
        bad = saved(tmp_path / "z.json", review, "review", "eve", [{"id": "a", "texts": [], "approved": approved}])
        assert collection.main(["gather", str(bad), f"--batch={b}", f"--review={r}", f"--out={out}"]) == 2
        assert "task 0 is damaged" in capsys.readouterr().err


def test_videos_without_translations_are_left_out_and_counted(tmp_path, capsys):
    captions = tmp_path / "captions.json"
    captions.write_text(json.dumps([{"videoID": one.video_id, "enCap": list(one.en)} for one in videos(3)]))
    path = tmp_path / "t.json"
    path.write_text(json.dumps({key: text for key, text in translations("t").items() if not key.startswith("v1&")}))
    assert collection.main(["postedit", str(captions), f"t={path}", f"--out={tmp_path / 'o'}"]) == 0
    assert "1 videos are left out" in capsys.readouterr().out
    assert [task.video_id for task in read_batch(tmp_path / "o").tasks] == ["v0", "v2"]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: postedit_batch(videos(1), {}, 0), "at least one file of translations"),
        (lambda: postedit_batch(videos(1), {"a": {"v0&1": "译"}}, 0), "a has no translation of 'v0&0'"),
        (
            lambda: postedit_batch(videos(1), {"a": {**translations("a"), "v0&2": "\u200b"}}, 0),
            "no translation of 'v0&2'",
        ),
        (lambda: postedit_batch(videos(1), {"a": {}}, 0), "no video"),
        (lambda: postedit_batch(videos(1), {"a": {**translations("a"), "v0&5": "译"}}, 0), "leave those of the others"),
        (lambda: postedit_batch([CaptionedVideo("v0", (), ("y",))], systems(1), 0), "v0 has no English caption"),
        (lambda: postedit_batch(videos(1), systems(1), -1), "--seed=-1"),
        (lambda: direct_batch([], 15), "no video"),
        (lambda: direct_batch(videos(1), 0), "--characters=0"),
    ],
)
def test_what_makes_no_task_is_told(act, message):
    with pytest.raises((ConfigError, DataError), match=message):
        act()


def test_commands_refuse_what_they_cannot_use(tmp_path, capsys):
    captions = tmp_path / "captions.json"
    captions.write_text(json.dumps([{"videoID": "v0", "enCap": ["x"]}]))
    bad = tmp_path / "bad.json"
    bad.write_text('{"nothing": 3}')
    out = f"--out={tmp_path / 'o'}"
    for arguments, message in (
        (["postedit", str(captions), "bad.json", out], "named NAME=FILE"),
        (["postedit", str(captions), f"a={bad}", out], "must be <videoID>&<i>"),
        (["direct", str(captions), out, "--videos=javascript:{video_id}"], "http"),
        (["direct", str(captions), out, "--videos= javascript:{video_id}"], "http"),
        (["direct", str(captions), out, "--videos=clips.mp4"], "{video_id}"),
        (["direct", str(captions), out, "--limit=-1"], "--limit=-1"),
        (["review", str(bad), f"--batch={tmp_path}", out], "tasks.json: no such file"),
    ):
        assert collection.main(arguments) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "o").exists()
    assert collection.main(["direct", str(captions), out]) == 0
    assert collection.main(["direct", str(captions), out, "--characters=3"]) == 2
    assert "another batch" in capsys.readouterr().err
    assert collection.main(["gather", str(bad), f"--batch={tmp_path / 'o'}", out]) == 2
    assert "not the results of a collection page" in capsys.readouterr().err
