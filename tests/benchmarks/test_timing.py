"""Processes a side, turns, and the line of results; no test here measures time."""

import json
import os

import pytest

from benchmarks import timing


def test_a_side_lives_in_its_own_process_and_keeps_its_state():
    with timing.Side(list, [1]) as side:
        side.call("append", 2)
        assert side.call("index", 2) == 1
        seconds, result = side.timed("copy")
        assert result == [1, 2]
        assert 0 <= seconds < timing.REST_SECONDS + 60
        with pytest.raises(RuntimeError, match="ValueError"):
            side.call("index", 3)
        assert side.call("copy") == [1, 2]


def test_a_side_that_cannot_start_or_dies_says_so():
    with pytest.raises(RuntimeError, match="TypeError"):
        timing.Side(int, [])
    with timing.Side(_Mortal) as side, pytest.raises(RuntimeError, match="status 7"):
        side.call("die")


class _Mortal:
    def die(self):
        os._exit(7)


def test_turns_go_forth_and_back():
    order = []
    seconds = timing.in_turn({name: lambda name=name: order.append(name) or len(order) for name in "ab"}, 3)
    assert "".join(order) == "abbaab"
    assert seconds == {"a": [1, 4, 5], "b": [2, 3, 6]}


@pytest.mark.parametrize("flags", ["flags : avx2 avx512_bf16 fma", "flags : amx_bf16", "Features : asimd bf16"])
def test_bfloat16_instructions_are_recognised(tmp_path, flags):
    (tmp_path / "cpuinfo").write_text(flags, encoding="utf-8")
    assert timing.without_bfloat16(str(tmp_path / "cpuinfo")) is None


def test_a_processor_without_bfloat16_gives_the_reason(tmp_path):
    (tmp_path / "cpuinfo").write_text("flags : avx2 avx512f", encoding="utf-8")
    assert "avx512_bf16" in timing.without_bfloat16(str(tmp_path / "cpuinfo"))
    assert "does not exist" in timing.without_bfloat16(str(tmp_path / "none"))


def test_the_last_line_is_json_with_the_versions(capsys):
    pytest.importorskip("torch", reason="the line names the version of PyTorch: pip install -e .[bench]")
    timing.print_line("train_step", {"ours": 1.23456789, "peer": 2.0, "speedup_bf16": None})
    line = json.loads(capsys.readouterr().out)
    assert line["benchmark"] == "train_step"
    assert (line["ours"], line["peer"], line["speedup_bf16"]) == (1.235, 2.0, None)
    assert {"python", "jax", "torch", "threads"} <= set(line)
