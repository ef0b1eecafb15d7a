"""metrics.jsonl tells the run as it was, whatever a kill left behind."""

import json

import pytest
from tensorboardX.proto import event_pb2

from vatex_jax.training.writers import MetricsWriter, finite_or_none, read_metrics


def test_lines_after_the_checkpoint_go_and_half_lines_too(tmp_path):
    first = {"step": 5, "epoch": 1.0, "bleu4": 1.5}
    writer = MetricsWriter(tmp_path, [], 0)
    writer.evaluation(first)
    writer.evaluation({"step": 10, "epoch": 2.0, "bleu4": 2.5})
    writer.close()
    path = tmp_path / "metrics.jsonl"
    path.write_text(path.read_text("utf-8") + '{"step": 15, "ep', "utf-8")
    assert [line["step"] for line in read_metrics(path)] == [5, 10]
    writer = MetricsWriter(tmp_path, [first], 5)
    assert read_metrics(path) == [first]
    writer.evaluation({"step": 10, "epoch": 2.0, "bleu4": None})
    writer.close()
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()][1]["bleu4"] is None


def events(folder):
    """(tag, value, step) of every scalar; record framing: length 8, crc 4, data, crc 4."""
    for path in sorted(folder.glob("events.*")):
        data = path.read_bytes()
        while data:
            length = int.from_bytes(data[:8], "little")
            event = event_pb2.Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]
            yield from ((value.tag, value.simple_value, event.step) for value in event.summary.value)


def test_tensorboard_gets_the_finite_numbers(tmp_path):
    writer = MetricsWriter(tmp_path, [], 0)
    writer.evaluation({"step": 5, "epoch": 1.0, "bleu4": 1.5, "bad": None})
    writer.scalars(6, {"loss": 2.0, "nan": float("nan")})
    writer.close()
    assert set(events(tmp_path)) == {("epoch", 1.0, 5), ("bleu4", 1.5, 5), ("loss", 2.0, 6)}


@pytest.mark.parametrize(("value", "kept"), [(1.5, 1.5), (float("nan"), None), (float("inf"), None)])
def test_json_has_no_nan(value, kept):
    assert finite_or_none(value) == kept
