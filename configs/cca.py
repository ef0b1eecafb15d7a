"""Visual dialogue without a model of dialogue: CCA between questions and answers (sections 2.2 and 3, appendix A).

    python run_experiment.py --config=configs/cca.py                     # simulated data
    python run_experiment.py --config=configs/cca.py:nn_aq               # another row of Table 5
    python run_experiment.py --config=configs/cca.py:aq-paper --config.vectors.source=/path/to/wiki.en.bin

Variants: `aq` (CCA of answers and questions; the default), `aqi` (images too; ranks with answers and questions), `none`
(the same vectors without CCA), `nn_aq` and `nn_aqi` (nearest training questions). Each ranks the candidates of the
test split, `aq` also generates answers, and all analyse the candidate sets. Further, CCA-AQ trained on reference sets
instead of ground truths, or on the annotated rounds alone: `aq_dense_h`, `aq_train_s` and others, rows of Tables 3, 8
and 9. With `-paper` (or `:paper` alone) VisDial
v1.0, for which word vectors must be named. The default takes about ten seconds on two cores, its world included, and
has a mean rank of 11.8 [11.5, 12.2]; the paper's on VisDial v1.0 is 17.07 (`aq`, FastText).
"""

import ml_collections

from vatex_jax.errors import ConfigError

VARIANTS = ("aq", "aqi", "none", "nn_aq", "nn_aqi")
# CCA-AQ trained on other rounds (dense: the annotated ones) or answers: rows of Tables 3, 8 and 9.
TRAINED_ON = (
    "aq_dense_gt", "aq_dense_h", "aq_dense_s", "aq_dense_m", "aq_dense_g", "aq_train_s", "aq_train_m", "aq_train_g",
    "aq_trainval_gt", "aq_trainval_s", "aq_trainval_m", "aq_trainval_g",
)  # fmt: skip


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: VARIANT, VARIANT-paper, or paper."""
    variant, paper = (spec.removesuffix("-paper"), True) if spec.endswith("-paper") else (spec, spec == "paper")
    variant = "aq" if variant in ("", "paper") else variant
    if variant not in (*VARIANTS, *TRAINED_ON):
        known = ", ".join((*VARIANTS, *TRAINED_ON))
        raise ConfigError(f"configs/cca.py has no variant {spec!r}: {known}, each with -paper, or paper.")
    config = ml_collections.ConfigDict()
    config.experiment = "cca"
    config.variant = variant
    config.seed = 0
    config.data = ml_collections.ConfigDict(
        {
            "name": "visdial/v1.0" if paper else "visdial_sim",
            "data_dir": "",  # empty: $VATEX_JAX_DATA, or data/tfds
            "test_split": "",  # empty: test where its answers are known, else validation
            "resample": False,  # train on a sample of the dialogues with replacement, by seed, which tables vary
            "image_features": "resnet34",  # which ones the data set was built with, for tables: or vgg16, vgg19
        }
    )
    config.vectors = ml_collections.ConfigDict(
        {
            # learned (from the training text), glove-6b-50d (a package), or the path of a FastText .bin, .vec or GloVe
            # text file
            "source": "" if paper else "learned",
            "dimension": 300 if paper else 240,  # of learned vectors
            "window": 5,
            "smoothing": 0.75,
            "min_count": 5,  # rarer words are unknown
            "max_tokens": 16,  # of a sentence, its end token counted
            "special": "zero",  # vectors of the unknown and the end token: zero, or the source's own
        }
    )
    config.cca = ml_collections.ConfigDict(
        # A world's few distinct sentences leave some directions without variance, which 1e-12 does not settle.
        {
            "k": 300 if paper else 240,
            "p": 1.0,
            "regularization": 1e-12 if paper else 1e-4,
            "normalization": "unit",
        }
    )
    config.training = ml_collections.ConfigDict(row(variant)["training"])
    config.neighbours = ml_collections.ConfigDict({"questions": 100, "images": 20})  # of nn_aq, and of nn_aqi too
    config.generation = ml_collections.ConfigDict(
        {
            "neighbours": 100,
            "generations": 5 if variant == "aq" else 0,  # a question
            "replacement": True,  # an answer may be drawn twice
            "negative": "zero",  # correlations below 0 have no chance; shift: all count from the least one up
        }
    )
    config.eval = ml_collections.ConfigDict({"figures": True, "bootstrap_samples": 1000})
    return config


def row(variant: str) -> dict:
    """What CCA-AQ is trained on in a row of Tables 3, 8 and 9."""
    _, rounds, answers = variant.split("_") if variant in TRAINED_ON else ("", "train", "gt")
    return {
        "training": {
            "split": "trainval" if rounds == "trainval" else "train",
            "rounds": "annotated" if rounds == "dense" else "all",
            "answers": answers if answers == "gt" else answers.upper(),  # H: people's; S, M, G: by CCA-AQ*
            "annotations": "train",  # what CCA-AQ* is fitted on; trainval: the validation split's too
            "clusters": 5,  # of G
        }
    }
