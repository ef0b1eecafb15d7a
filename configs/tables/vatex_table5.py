"""VaTeX, Table 5: video-guided machine translation, four rows and the shuffled-video control, both directions, 5 seeds.

    python run_experiment.py --config=configs/tables/vatex_table5.py           # simulated data; resumes
    python run_experiment.py --config=configs/tables/vatex_table5.py:en2zh     # one direction
    python run_experiment.py --config=configs/tables/vatex_table5.py:paper     # published sizes, real VaTeX: GPU days

Another world: --config.run.data.name=vatex_sim/default-w9. Runs found in results/vatex_table5 are not run again;
those of real data are kept in the work folder.
"""

import ml_collections

from configs import vmt
from vatex_jax.errors import ConfigError


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: a direction, paper, direction-paper, or nothing."""
    paper = spec.endswith("paper")
    direction = spec.removesuffix("paper").removesuffix("-")
    if direction not in ("", "en2zh", "zh2en"):
        raise ConfigError(f"configs/tables/vatex_table5.py has no {spec!r}: en2zh, zh2en, each with -paper, or paper.")
    config = ml_collections.ConfigDict()
    config.experiment = "table"
    config.table = "vatex_table5"
    config.seeds = (0, 1, 2, 3, 4)
    config.directions = (direction,) if direction else ("en2zh", "zh2en")
    config.run = vmt.get_config("paper" if paper else "")
    config.run.eval.figures = False
    config.rows = ml_collections.ConfigDict({variant: vmt.row(variant) for variant in vmt.VARIANTS})
    config.results_dir = ""  # empty: results/vatex_table5 for simulated data, else the work folder
    return config
