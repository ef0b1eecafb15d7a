"""Answer reference sets of visual dialogue (section 4.2, appendix D): built, held against people's, released.

    python run_experiment.py --config=configs/reference_sets.py                    # simulated data
    python run_experiment.py --config=configs/reference_sets.py:human_trainval     # CCA-AQ* on train and validation
    python run_experiment.py --config=configs/reference_sets.py:paper --config.vectors.source=/path/to/wiki.en.bin

Variants say what CCA-AQ* is fitted on: `human_train` (the annotated rounds of train; the default) or `human_trainval`
(those of validation too, as the published release was made; figures on validation are not those of unseen data then).
With `-paper` (or `:paper` alone) VisDial v1.0, for which word vectors must be named.

All rows of Tables 1 and 10 are measured; reference_sets/SPLIT.json.gz holds the sets of every round of a split that is
read (train, the test split, and for `human_trainval` validation), in the layout of DenseVisDial. The paper's Sigma on
VisDial: IoU 24.13, precision 62.48, recall 32.91, size 7.17.
"""

import ml_collections

from configs import cca
from vatex_jax.errors import ConfigError

VARIANTS = ("human_train", "human_trainval")


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: VARIANT, VARIANT-paper, or paper."""
    variant, paper = (spec.removesuffix("-paper"), True) if spec.endswith("-paper") else (spec, spec == "paper")
    variant = "human_train" if variant in ("", "paper") else variant
    if variant not in VARIANTS:
        raise ConfigError(
            f"configs/reference_sets.py has no variant {spec!r}: {', '.join(VARIANTS)}, each with -paper, or paper."
        )
    of_cca = cca.get_config("paper" if paper else "")
    config = ml_collections.ConfigDict()
    config.experiment = "reference_sets"
    config.variant = variant
    config.seed = 0
    for section in ("data", "vectors", "cca", "training", "eval"):
        config[section] = of_cca[section]
    config.training.annotations = "trainval" if variant == "human_trainval" else "train"
    config.release = ml_collections.ConfigDict(
        {
            "splits": (),  # which ones; empty: every split that is read
            "method": "S",  # S (Sigma), M (mean shift) or G (agglomerative, training.clusters of them)
            "model": "aq_star",  # or aq
            "compress": True,  # .json.gz
        }
    )
    return config
