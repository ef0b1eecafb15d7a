"""Visual dialogue, Table 8 (appendix D): CCA-AQ trained on reference sets; Tables 3 and 9 are some of its rows.

    python run_experiment.py --config=configs/tables/visdial_table8.py   # simulated data, 5 seeds; resumes
    python run_experiment.py --config=configs/tables/visdial_table8.py:v1.0 --config.run.vectors.source=wiki.en.bin

Rows: annotated rounds of train, all of train, or train and validation; each question with its ground truth, with H, or
with the set Sigma, M or G that CCA-AQ* finds. A seed trains on its own sample of the dialogues, with replacement: that
is what the intervals over seeds speak of. Another world: --config.run.data.name=visdial_sim/default-w13.

`v1.0` is real VisDial with the published settings, without resampling. What is trained on validation is left out there:
it is ranked, and the test server alone could judge it (configs/cca.py:aq_trainval_s-paper with --mode=predict
--config.data.test_split=test writes the file). The paper's figures are of the test server, ours of validation.
"""

import ml_collections

from configs import cca
from vatex_jax.errors import ConfigError

SPECS = ("", "v1.0")


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: v1.0, or nothing."""
    return table("visdial_table8", ("aq", *cca.TRAINED_ON), spec)


def table(name: str, variants: tuple[str, ...], spec: str) -> ml_collections.ConfigDict:
    """A table of CCA-AQ trained on different answers, whose runs Tables 3, 8 and 9 share."""
    if spec not in SPECS:
        raise ConfigError(f"configs/tables/{name}.py has no {spec!r}: there is v1.0.")
    config = ml_collections.ConfigDict()
    config.experiment = "table"
    config.table = name
    config.results_of = "visdial_table8"
    config.seeds = (0,) if spec else (0, 1, 2, 3, 4)
    config.run = cca.get_config("paper" if spec else "")
    config.run.generation.generations = 0
    config.run.data.resample = not spec
    if not spec:
        config.run.cca.k = 100  # a sample of the annotated rounds holds too few different ones for more
    config.run.eval.figures = False
    kept = [variant for variant in variants if not (spec and "trainval" in variant)]
    config.rows = ml_collections.ConfigDict({variant: cca.row(variant) for variant in kept})
    config.results_dir = ""  # empty: results/visdial_table8 for simulated data, else the work folder
    return config
