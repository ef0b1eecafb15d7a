"""The rounds of one VisDial dialogue, from JSON into a few small arrays.

Dimension legend
    R  rounds of the dialogue
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from vatex_jax.data.json_files import kind, shorten, show

ROUNDS = 10
"""A dialogue has at most so many."""

OPTIONS = 100
"""Candidate answers of a round."""

_LARGEST = (1 << 31) - 1


class Rounds(NamedTuple):
    """A dialogue's rounds as its file has them: places in the file's tables, -1 where the field is absent."""

    questions: Int32[np.ndarray, "R"]
    answers: Int32[np.ndarray, "R"]
    gt_index: Int32[np.ndarray, "R"]
    options: Int32[np.ndarray, "R 100"]


@dataclasses.dataclass(frozen=True)
class Fault:
    """What is wrong with a dialogue, and in which round (1 is the first; None: with all of it) and field."""

    message: str
    round: int | None = None
    field: str = ""

    def __str__(self) -> str:
        place = "field dialog" if self.round is None else f"round {self.round}"
        return f"{place}{', field ' if self.field else ''}{self.field}: {self.message}"


def pack_rounds(value: object) -> Rounds | Fault:
    """The rounds that a record's field `dialog` holds, or what is wrong with them.

    What takes the file's tables or the split to be seen is not looked at. A fault is returned, not raised, since
    the number of the record is not known while its file is being parsed.
    """
    if not isinstance(value, list):
        return Fault(f"is {kind(value)}, not a list of rounds.")
    if not 1 <= len(value) <= ROUNDS:
        return Fault(f"has {len(value)} rounds, where 1 to {ROUNDS} can be.")
    packed = Rounds(
        *(np.full(len(value), -1, np.int32) for _ in range(3)), np.full((len(value), OPTIONS), -1, np.int32)
    )
    for number, turn in enumerate(value):
        fault = _fault_of(turn, number + 1)
        if fault is not None:
            return fault
        packed.questions[number] = turn["question"]
        packed.answers[number] = turn.get("answer", -1)
        packed.gt_index[number] = turn.get("gt_index", -1)
        packed.options[number] = turn.get("answer_options", -1)
    return packed


def is_count(value: object, bound: int) -> bool:
    """Whether a JSON value is a whole number from 0 to below `bound`; `true`, which Python counts as 1, is none."""
    return type(value) is int and 0 <= value < bound


def _fault_of(turn: object, number: int) -> Fault | None:
    if not isinstance(turn, dict):
        return Fault(f'is {kind(turn)}, not an object like {{"question": ..., "answer": ...}}.', number)
    if "question" not in turn:
        return Fault(f"has no field question, only {shorten(sorted(turn))}.", number)
    for field in ("question", "answer"):
        if field in turn and not is_count(turn[field], _LARGEST):
            return Fault(f"is {show(turn[field])}, not a place in the file's list of {field}s.", number, field)
    if "answer_options" in turn:
        fault = _fault_of_options(turn["answer_options"])
        if fault:
            return Fault(fault, number, "answer_options")
    if "gt_index" in turn:
        if not is_count(turn["gt_index"], OPTIONS):
            return Fault(f"is {show(turn['gt_index'])}, not a place from 0 to {OPTIONS - 1}.", number, "gt_index")
        absent = [field for field in ("answer", "answer_options") if field not in turn]
        if absent:
            return Fault(f"is given where the field {absent[0]} is not.", number, "gt_index")
    return None


def _fault_of_options(options: object) -> str:
    if not isinstance(options, list):
        return f"is {kind(options)}, not a list of {OPTIONS} answers."
    if len(options) != OPTIONS:
        return f"has {len(options)} options, not {OPTIONS}."
    if set(map(type, options)) != {int} or not (min(options) >= 0 and max(options) < _LARGEST):
        number, value = next((i, v) for i, v in enumerate(options, start=1) if not is_count(v, _LARGEST))
        return f"option {number} of {OPTIONS} is {show(value)}, not a place in the file's list of answers."
    return ""
