"""VaTeX, Table 6: masked video-guided machine translation: NMT, VMT and the shuffled-video control, nouns and verbs.

    python run_experiment.py --config=configs/tables/vatex_table6.py        # simulated data, 0, 50 and 100%; resumes
    python run_experiment.py --config=configs/tables/vatex_table6.py:all    # all five rates
    python run_experiment.py --config=configs/tables/vatex_table6.py:paper  # published sizes, real VaTeX: GPU days

Another world: --config.run.data.name=vatex_sim/default-w12. Runs found in results/vatex_table6 are not run again; those
of real data are kept in the work folder. Where nothing is masked, one run serves the columns of nouns and of verbs.
"""

import ml_collections

from configs import masked_vmt
from vatex_jax.errors import ConfigError

VARIANTS = ("none", "attention", "shuffled")
RATES = (0.0, 0.25, 0.5, 0.75, 1.0)


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: all, paper, or nothing."""
    if spec not in ("", "all", "paper"):
        raise ConfigError(f"configs/tables/vatex_table6.py has no {spec!r}: there are all and paper.")
    config = ml_collections.ConfigDict()
    config.experiment = "table"
    config.table = "vatex_table6"
    config.seeds = (0, 1, 2, 3, 4)
    config.run = masked_vmt.get_config(spec if spec == "paper" else "")
    config.run.eval.figures = False
    if spec != "paper":
        config.run.train.eval_every = -1  # nothing goes by what validation says
    rates = RATES if spec else (0.0, 0.5, 1.0)
    config.rows = ml_collections.ConfigDict(
        {f"{variant}-{name}": row(variant, kind, rate) for name, kind, rate in maskings(rates) for variant in VARIANTS}
    )
    config.results_dir = ""  # empty: results/vatex_table6 for simulated data, else the work folder
    return config


def maskings(rates: tuple[float, ...]) -> list[tuple[str, str, float]]:
    """(name, kind, rate) of each masking; nouns and verbs are the same where none is masked."""
    names = [("whole", "noun", rate) for rate in rates if rate == 0]
    return names + [(f"{kind}{100 * rate:.0f}", kind, rate) for kind in ("noun", "verb") for rate in rates if rate]


def row(variant: str, kind: str, rate: float) -> dict:
    """What a row of Table 6 changes, at one of its columns."""
    return {**masked_vmt.row(variant), "variant": variant, "mask": {"kind": kind, "rate": rate}}
