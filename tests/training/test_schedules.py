"""Learning rates by hand."""

import dataclasses
import json
import math

import pytest

from vatex_jax.errors import ConfigError
from vatex_jax.training.schedules import Plateau, make_schedule
from vatex_jax.training.state import HostState


@pytest.mark.parametrize(
    ("schedule", "warmup", "expected"),
    [
        ("constant", 0, {0: 0.1, 7: 0.1}),
        ("constant", 4, {0: 0.0, 1: 0.025, 4: 0.1, 50: 0.1}),
        ("rsqrt", 4, {0: 0.0, 2: 0.05, 4: 0.1, 16: 0.05, 64: 0.025}),
        ("rsqrt", 0, {0: 0.1, 1: 0.1, 4: 0.05}),
        ("cosine", 10, {5: 0.05, 10: 0.1, 55: 0.05, 100: 0.0}),
        ("linear", 20, {10: 0.05, 20: 0.1, 60: 0.05, 100: 0.0, 120: 0.0}),
    ],
)
def test_rates(toy, schedule, warmup, expected):
    config = toy.make_config(schedule=schedule, warmup_steps=warmup, learning_rate=0.1)
    rate = make_schedule(config, total_steps=100)
    for step, value in expected.items():
        assert math.isclose(float(rate(step)), value, abs_tol=1e-7), step


@pytest.mark.parametrize("field", [{"schedule": "step"}, {"learning_rate": 0.0}, {"warmup_steps": -1}])
def test_unusable_fields_are_named(toy, field):
    with pytest.raises(ConfigError, match=f"train.{next(iter(field))}"):
        make_schedule(toy.make_config(**field), 100)


def test_plateau_halves_after_patience_evaluations_without_a_new_best():
    plateau, host = Plateau(0.5, 2, "max"), HostState()
    values = [1.0, 2.0, 2.0, 1.5, 1.9, math.nan, 3.0, 2.0, 2.5]
    #                     equal is no improvement; the count starts anew after a cut
    assert [plateau.update(host, value) for value in values] == [1, 1, 1, 0.5, 1, 0.5, 1, 1, 0.5]
    assert host.plateau_best == 3.0


def test_plateau_counts_on_after_a_resume():
    plateau, host = Plateau(0.5, 3, "min"), HostState()
    assert [plateau.update(host, value) for value in [5.0, 6.0, 6.0]] == [1, 1, 1]
    resumed = HostState(**json.loads(json.dumps(dataclasses.asdict(host))))
    assert plateau.update(resumed, 5.5) == 0.5


def test_plateau_rejects_what_makes_no_sense():
    with pytest.raises(ConfigError, match="plateau_factor"):
        Plateau(2.0, 1, "max")
    with pytest.raises(ConfigError, match="plateau_patience"):
        Plateau(0.5, 0, "max")
