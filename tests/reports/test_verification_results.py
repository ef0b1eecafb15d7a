"""Results: Table 2 by hand, what counts, and what is told about the rest."""

import dataclasses
import json
import math

import pytest

from vatex_jax.errors import DataError
from vatex_jax.reports.verification_results import SCHEMA, collect, figures, read_result, render, render_flags
from vatex_jax.reports.verification_tasks import Batch, Task

TASKS = (
    Task(1, 0, "one?", ("a", "b"), "H", (True, False)),
    Task(2, 0, "two?", ("c", "d", "e", "f"), "H", (False, True, False, False)),
    Task(3, 0, "three?", ("g", "h"), "sigma", (True, False)),
)
BATCH = Batch(TASKS, 4)
BATCHES = {BATCH.id: BATCH}


def result(annotator: str, ticks: dict[int, list[int]], saved: str = "2024-01-01T00:00:00.000Z", **changes) -> dict:
    """What a person saved: ticks by task, tasks without any entry not confirmed."""
    entries = [
        {"id": task.id, "page": 1, "done": number in ticks, "ticked": ticks.get(number, list(range(len(task.answers)))),
         "seconds": 10.0 + number, "image": "shown", "comment": ""}
        for number, task in enumerate(TASKS)
    ]  # fmt: skip
    value = {"schema": SCHEMA, "batch": BATCH.id, "file": "verify", "annotator": annotator, "saved": saved}
    return value | {"tasks": entries, "path": f"{annotator}.json"} | changes


ALL = {0: [0, 1], 1: [0, 1, 2, 3], 2: [0, 1]}


def test_table_2_by_hand():
    results = [result("x", {**ALL, 0: [0]}), result("y", {**ALL, 1: [1, 2]}), result("z", {0: [0], 2: [1]})]
    collected = collect(results, BATCHES)
    found = figures([j for j in collected.judgements if j.task.source == "H"])
    # Task 1: a 3, b 1 of 3 each: 4/6, both by one. Task 2: c 1, d 2, e 2, f 1 of 2 each: 6/8, all by one.
    assert found["tasks"] == 2
    assert found["annotators"] == 2.5
    assert (found["annotators_least"], found["annotators_most"]) == (2, 3)
    assert found["selected"] == pytest.approx(100 * (4 / 6 + 6 / 8) / 2)
    assert found["selected_variance"] == pytest.approx(100 * (6 / 8 - 4 / 6) ** 2 / 2)
    assert found["selected_by_one"] == 100
    assert found["selected_by_one_variance"] == 0
    assert found["selected_pooled"] == pytest.approx(100 * 10 / 14)
    assert found["ground_truth_selected"] == pytest.approx(100 * 5 / 5)
    assert found["median_seconds"] == 10.0
    # Disagreeing ordered pairs a judgement: b 4/2, c 2/1, f 2/1: 6 of 14; values 10 and 4 of 14.
    assert found["pairs_agree"] == pytest.approx(100 * (1 - 6 / 14))
    assert found["krippendorff_alpha"] == pytest.approx(1 - 13 * 6 / (2 * 10 * 4))
    sigma = figures([j for j in collected.judgements if j.task.source == "sigma"])
    assert sigma["selected"] == pytest.approx(100 * 5 / 6)
    assert sigma["ground_truth_selected"] == pytest.approx(100 * 2 / 3)
    assert math.isnan(sigma["selected_variance"])


def test_an_answer_nobody_left_ticked_is_not_selected_by_one():
    found = figures(collect([result("x", {0: [1]}), result("y", {0: [1]})], BATCHES).judgements)
    assert found["selected_by_one"] == 50
    assert found["ground_truth_selected"] == 0


def test_what_is_not_confirmed_does_not_count_and_is_told():
    collected = collect([result("x", {0: [0]})], BATCHES)
    assert [judgement.task for judgement in collected.judgements] == [TASKS[0]]
    assert collected.flags == [("incomplete", "x.json, x", "2 of 3 tasks are not confirmed and do not count")]


def test_tasks_cut_out_of_a_file_are_incomplete_those_of_other_pages_are_not():
    value = result("x", ALL)
    del value["tasks"][1]
    assert collect([value], BATCHES).flags == [
        ("incomplete", "x.json, x", "1 of 3 tasks are not confirmed and do not count")
    ]
    spread = Batch(TASKS, 2)  # the third task stands on a page, and perhaps in a file, of its own
    value = result("x", ALL, batch=spread.id)
    del value["tasks"][2]
    assert collect([value], {spread.id: spread}).flags == []


@pytest.mark.parametrize("turned", [False, True])
def test_of_one_persons_two_results_the_later_counts_and_other_ticks_are_told(turned):
    early = result("x", {0: [0, 1], 1: [0]}, path="1.json")
    late = result("x", {0: [1], 1: [0]}, saved="2024-01-02T00:00:00.000Z", path="2.json")
    collected = collect([late, early] if turned else [early, late], BATCHES)
    assert [set(judgement.ticked) for judgement in collected.judgements] == [{1}, {0}]
    ((_, where, what),) = [flag for flag in collected.flags if flag[0] == "contradictory"]
    assert where == "2.json, x"
    assert "image 1, round 0" in what
    assert "1.json" in what


def test_going_on_later_is_no_contradiction():
    early = result("x", {0: [0]}, path="1.json")
    late = result("x", {**ALL, 0: [0]}, saved="2024-01-02T00:00:00.000Z", path="2.json")
    collected = collect([early, late], BATCHES)
    assert len(collected.judgements) == 3
    assert [flag[0] for flag in collected.flags] == ["incomplete"]


def test_a_confirmed_task_stays_when_a_later_file_has_it_unconfirmed():
    late = result("x", {1: [0]}, saved="2024-01-02T00:00:00.000Z", path="2.json")
    assert len(collect([result("x", {0: [0]}), late], BATCHES).judgements) == 2


def test_unknown_tasks_and_answers_do_not_count_and_are_told():
    wrong = result("x", {**ALL, 0: [0, 2], 1: [-1]})
    wrong["tasks"][2]["id"] = "feedfeedfeed"
    collected = collect([wrong, result("y", ALL)], BATCHES)
    assert {judgement.annotator for judgement in collected.judgements} == {"y"}
    told = [what for kind, _, what in collected.flags if kind == "contradictory"]
    assert len(told) == 3
    assert "answers 0 to 1, no 2;" in told[0]
    assert "answers 0 to 3, no -1;" in told[1]
    assert "feedfeedfeed" in told[2]


@pytest.mark.parametrize(("ticked", "word"), [([0, 1], "nothing"), ([], "everything"), ([0], None)])
def test_people_who_seem_not_to_have_looked_are_told_and_count(ticked, word):
    tasks = tuple(Task(number, 0, "q?", ("a", "b"), "H", (True, False)) for number in range(5))
    batch = Batch((*tasks, Task(9, 0, "q?", ("a",), "H", (True,))), 4)
    entries = [{"id": task.id, "done": True, "ticked": ticked, "seconds": 1} for task in tasks]
    entries.append({"id": batch.tasks[5].id, "done": True, "ticked": [0], "seconds": 1})  # one answer tells nothing
    value = result("x", {}, batch=batch.id, tasks=entries)
    collected = collect([value], {batch.id: batch})
    assert len(collected.judgements) == 6
    said = f"unticked {word} in all 5 tasks of two answers or more"
    assert collected.flags == ([("suspicious", "x", said)] if word else [])
    few = collect([value | {"tasks": entries[1:]}], {batch.id: batch})
    assert [flag[0] for flag in few.flags] == ["incomplete"]


def test_judging_without_the_picture_is_told():
    value = result("x", ALL)
    value["tasks"][0]["image"] = "missing"
    assert collect([value], BATCHES).flags[0][:2] == ("unseen", "x.json, x")


def test_results_of_another_batch_and_none_that_count_are_refused():
    with pytest.raises(DataError, match=r"x\.json: is of batch 'cafe'"):
        collect([result("x", ALL, batch="cafe")], BATCHES)
    with pytest.raises(DataError, match="No result counts"):
        collect([result("x", {})], BATCHES)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "vatex-jax verification 9"}, "not the results"),
        ({"annotator": ""}, "'annotator'"),
        ({"annotator": "a\x1b[2J"}, "no annotator id"),
        ({"saved": None}, "'saved'"),
        ({"tasks": {}}, "'tasks' must be a list"),
        ({"tasks": [{"id": "a", "done": 1, "ticked": [], "seconds": 0}]}, "task 0 is damaged"),
        ({"tasks": [{"id": "a", "done": True, "ticked": [True], "seconds": 0}]}, "task 0 is damaged"),
        ({"tasks": [{"id": "a", "done": True, "ticked": [0], "seconds": -1}]}, "task 0 is damaged"),
        ({"tasks": [{"id": "a", "done": True, "ticked": [0], "seconds": 10**400}]}, "task 0 is damaged"),
        ({"tasks": [{"id": "a", "done": True, "ticked": [0], "seconds": 1e300}]}, "task 0 is damaged"),
        ({"tasks": [None]}, "task 0 is damaged"),
        ({"saved": "1 May 2024"}, "'saved' is '1 May 2024'"),
        ({"saved": "2024-01-01T00:00:00.000+02:00"}, "'saved' is"),  # which would not be ordered as texts are
    ],
)
def test_a_damaged_file_is_named(change, said, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(result("x", ALL)), encoding="utf-8")
    assert read_result(path)["annotator"] == "x"
    path.write_text(json.dumps(result("x", ALL) | change), encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.json: ") as error:
        read_result(path)
    assert said in str(error.value)


def test_a_file_edited_by_hand_may_have_a_byte_order_mark_but_no_field_twice(tmp_path):
    path = tmp_path / "x.json"
    text = json.dumps(result("x", ALL), indent=1).replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert len(collect([read_result(path)], BATCHES).judgements) == 3
    path.write_text('{"annotator": "y",' + text[1:], encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.json: cannot be read as JSON .the field 'annotator' stands there twice"):
        read_result(path)


def test_a_batch_name_that_is_no_name_is_shown_in_letters():
    with pytest.raises(DataError) as error:
        collect([result("x", ALL, batch="\x1b[2J\ud800")], BATCHES)
    assert str(error.value).isascii()
    assert str(error.value).isprintable()


def test_ours_and_the_papers_figures_stand_in_columns_of_their_own():
    collected = collect([result("x", {0: [0]}), result("y", ALL)], BATCHES)
    text = render(collected, "markdown")
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    assert lines[0] == ["", "H: ours", "sigma: ours", "H: paper", "Sigma: paper"]
    rows = {line[0]: line[1:] for line in lines[2:]}
    assert rows["% of the set selected (variance)"] == ["87.50 (3.12)", "100.00", "81.48 (2.15)", "70.66 (5.45)"]
    assert rows["% selected by 1 annotator or more (variance)"][2:] == ["98.80 (0.37)", "95.52 (2.22)"]
    assert rows["tasks"] == ["2", "1", "1,680", "5,040"]
    assert rows["Krippendorff's alpha (nominal)"][2:] == ["-", "-"]
    assert ["incomplete", "x.json, x", "2 of 3 tasks are not confirmed and do not count"] in lines
    assert "incomplete" in render_flags(collected, "text")


def test_csv_has_a_line_a_figure():
    lines = render(collect([result("x", ALL)], BATCHES), "csv").splitlines()
    assert lines[0] == "source,figure,value,paper_H,paper_sigma,sets_of"
    assert "H,selected,100.0,81.48,70.66," in lines
    assert "sigma,krippendorff_alpha,,,," in lines


def test_simulated_sets_do_not_pass_for_others_beside_the_paper():
    batch = dataclasses.replace(BATCH, origins={"sigma": "visdial_sim/default 1.0.0: SIMULATED, test split"})
    assert batch.id == BATCH.id
    collected = collect([result("x", ALL)], {batch.id: batch})
    assert "sigma  visdial_sim/default 1.0.0: SIMULATED, test split" in render(collected, "text").splitlines()
    csv_lines = render(collected, "csv").splitlines()
    assert 'sigma,selected,100.0,81.48,70.66,"visdial_sim/default 1.0.0: SIMULATED, test split"' in csv_lines
    assert "H,selected,100.0,81.48,70.66," in csv_lines
    assert "sets of" not in render(collect([result("x", ALL)], BATCHES), "text")


def test_what_people_wrote_is_shown_in_one_line():
    value = result("x", ALL)
    value["tasks"][1]["comment"] = "odd\n question"
    assert render(collect([value], BATCHES), "text").endswith(
        f"x           task {TASKS[1].id} (image 2, round 0)  odd question"
    )
    assert "comment" not in render(collect([result("x", ALL)], BATCHES), "text")
