"""Every configuration: the default ones take a training step, the others are checked by shape; unknown fields fail."""

import importlib
from pathlib import Path

import jax
import numpy as np
import pytest

from configs import captioning, vmt
from configs.tables import vatex_table5
from vatex_jax.errors import ConfigError
from vatex_jax.experiments import EXPERIMENTS
from vatex_jax.experiments.captioning import CaptioningExperiment
from vatex_jax.experiments.table import planned
from vatex_jax.experiments.trained import check_config
from vatex_jax.experiments.translation import TranslationExperiment, TranslationTask, make_model
from vatex_jax.reports.tables import TABLES
from vatex_jax.training import optimizers, schedules, sharding
from vatex_jax.training.loop import make_train_step
from vatex_jax.training.state import new_state

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = sorted((ROOT / "configs").rglob("*.py"))


def batch(rows: int, video: bool) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    made = {
        "source": rng.integers(5, 40, (rows, 6)).astype(np.int32),
        "target": rng.integers(5, 40, (rows, 5)).astype(np.int32),
        "index": np.arange(rows, dtype=np.int32),
    }
    if video:
        made["video"] = rng.normal(size=(rows, 4, 1024)).astype(np.float32)
        made["video_mask"] = np.ones((rows, 4), bool)
    return made


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_config_names_its_command_and_a_known_experiment(path):
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    config = module.get_config()
    assert config.experiment in EXPERIMENTS
    assert f"--config={path.relative_to(ROOT)}" in module.__doc__
    config.lock()
    with pytest.raises(AttributeError):
        config.no_such_field = 1
    with pytest.raises(ConfigError, match="no-such-variant"):
        module.get_config("no-such-variant")


def captioning_default():
    config = captioning.get_config()
    experiment = CaptioningExperiment()
    experiment.check(config)
    made = batch(8, video=True)
    made |= {"target_en": made.pop("target"), "target_zh": made.pop("source")[:, :4]}
    return config, experiment.task(config, {"en": 50, "zh": 60}, 10), made


def translation_default():
    config = vmt.get_config()
    return config, TranslationTask(make_model(config, 50, 60)), batch(8, video=True)


@pytest.mark.parametrize("default", [translation_default, pytest.param(captioning_default, marks=pytest.mark.slow)])
def test_steps_of_the_default_lower_the_loss_of_their_batch(default):
    config, task, made = default()
    check_config(config)
    mesh = sharding.make_mesh()
    config.train.warmup_steps = 0
    optimizer = optimizers.make_optimizer(config.train, schedules.make_schedule(config.train, 100))
    step = make_train_step(task, optimizer, mesh, jax.random.key(0))
    state = new_state(task.init(jax.random.key(1)), optimizer)
    data = sharding.shard_batch(mesh, made)
    losses = []
    for _ in range(6):
        state, measured = step(state, data)
        losses.append(float(measured[0]))
    assert losses[-1] < losses[0] - 0.1


@pytest.mark.parametrize("variant", vmt.VARIANTS)
def test_the_other_variants_have_a_loss_and_pass_their_own_checks(variant):
    config = vmt.get_config(variant)
    check_config(config)
    TranslationExperiment().check(config)
    task = TranslationTask(make_model(config, 50, 60))
    shapes = jax.eval_shape(task.init, jax.random.key(0))
    made = batch(2, video=config.model.video != "none")
    loss, _ = jax.eval_shape(task.loss, shapes, made, jax.random.key(0), np.int32(0))
    assert (loss.shape, loss.dtype) == ((), np.float32)


@pytest.mark.parametrize("variant", vmt.VARIANTS)
def test_the_published_sizes(variant):
    config = vmt.get_config(f"{variant}-paper")
    assert config.data.name == "vatex/i3d"
    assert config.train.batch_size == 32
    task = TranslationTask(make_model(config, 11_000, 14_000))
    shapes = jax.eval_shape(task.init, jax.random.key(0))
    count = sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(shapes))
    loss, _ = jax.eval_shape(
        task.loss, shapes, batch(2, video=config.model.video != "none"), jax.random.key(0), np.int32(0)
    )
    assert loss.shape == ()
    assert count == {
        "none": 43_067_568, "average": 45_164_720, "final": 44_640_944, "attention": 47_262_384, "shuffled": 47_262_384,
    }[variant]  # fmt: skip


def test_table5_plans_every_row_direction_and_seed_once():
    config = vatex_table5.get_config()
    runs = dict(planned(config))
    assert config.table in TABLES
    assert len(runs) == 5 * 2 * 5
    one = runs["vatex_sim/zh2en-shuffled-seed3"]
    assert (one.direction, one.variant, one.seed) == ("zh2en", "shuffled", 3)
    assert one.data.shuffled_video
    assert one.model.video == "attention"
    assert runs["vatex_sim/en2zh-none-seed0"].model.video == "none"
    assert vatex_table5.get_config("en2zh-paper").directions == ("en2zh",)
    assert vatex_table5.get_config("paper").run.data.name == "vatex/i3d"


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [("decode", "length_penalty", -1000.0), ("decode", "length_penalty", 1e308), ("train", "epochs", 10**12),
     ("data", "max_segments", 2**31)],
)  # fmt: skip
def test_numbers_that_would_fail_only_later_are_refused(section, field, value):
    config = vmt.get_config()
    config[section][field] = value
    with pytest.raises(ConfigError, match=f"config.{section}.{field} is"):
        check_config(config)
