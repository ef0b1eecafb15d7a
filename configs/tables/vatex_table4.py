"""VaTeX, Table 4: multilingual video captioning, four rows (two models each for Base) and a control, 5 seeds.

    python run_experiment.py --config=configs/tables/vatex_table4.py        # simulated data; resumes
    python run_experiment.py --config=configs/tables/vatex_table4.py:paper --mode=describe  # the paper's sizes
    python run_experiment.py --config=configs/tables/vatex_table4.py:paper  # published sizes, real VaTeX: GPU days

On simulated data every row is trained for the same passes over the captions, in one stage.

Another world: --config.run.data.name=vatex_sim/default-w9. Runs found in results/vatex_table4 are not run again;
those of real data are kept in the work folder. The paper's model sizes are 52.5M, 39.7M, 34.9M and 26.3M; ours, for
vocabularies of 11,000 and 14,140, the same.
"""

import ml_collections

from configs import captioning
from vatex_jax.errors import ConfigError


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: paper, or nothing."""
    if spec not in ("", "paper"):
        raise ConfigError(f"configs/tables/vatex_table4.py has no {spec!r}: there is paper.")
    config = ml_collections.ConfigDict()
    config.experiment = "table"
    config.table = "vatex_table4"
    config.seeds = (0, 1, 2, 3, 4)
    config.run = captioning.get_config(spec)
    config.run.eval.figures = False
    config.run.decode.samples = 0
    if not spec:
        config.run.precision = "bfloat16"  # a third faster where the processor has such products, and no worse
        # In a sixth pass Base would train all it has, the shared rows their private part alone.
        config.run.train.finetune_private = False
        config.run.train.eval_every = -1  # nothing goes by what validation says
    config.vocabulary_size = config.run.vocabulary_size  # for --mode=describe
    config.rows = ml_collections.ConfigDict({variant: captioning.row(variant) for variant in captioning.VARIANTS})
    config.results_dir = ""  # empty: results/vatex_table4 for simulated data, else the work folder
    return config
