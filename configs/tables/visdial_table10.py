"""Visual dialogue, Table 10 (appendix D): every construction of reference sets against people's; Table 1 is its core.

    python run_experiment.py --config=configs/tables/visdial_table10.py   # simulated data, 5 seeds; resumes
    python run_experiment.py --config=configs/tables/visdial_table10.py:v1.0 --config.run.vectors.source=wiki.en.bin

A run measures all rows. A seed fits CCA on its own sample of the training dialogues, with replacement: that is what the
intervals over seeds speak of. Another world: --config.run.data.name=visdial_sim/default-w13. `v1.0` is real VisDial
with the published settings, without resampling.
"""

import ml_collections

from configs import reference_sets
from vatex_jax.errors import ConfigError

SPECS = ("", "v1.0")


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: v1.0, or nothing."""
    return table("visdial_table10", spec)


def table(name: str, spec: str) -> ml_collections.ConfigDict:
    """A table of reference sets, whose runs Tables 1 and 10 share."""
    if spec not in SPECS:
        raise ConfigError(f"configs/tables/{name}.py has no {spec!r}: there is v1.0.")
    config = ml_collections.ConfigDict()
    config.experiment = "table"
    config.table = name
    config.results_of = "visdial_table10"
    config.seeds = (0,) if spec else (0, 1, 2, 3, 4)
    config.run = reference_sets.get_config("paper" if spec else "")
    config.run.data.resample = not spec
    config.run.eval.figures = False
    config.run.release.splits = ("validation",) if spec else ("test",)
    config.rows = ml_collections.ConfigDict({"human_train": {}})
    config.results_dir = ""  # empty: results/visdial_table10 for simulated data, else the work folder
    return config
