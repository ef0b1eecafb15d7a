"""The revised generative evaluation of visual dialogue (sections 4.1 and 5, appendix C), of any model's answers.

    python run_experiment.py --config=configs/generative_eval.py                     # simulated data
    python run_experiment.py --config=configs/generative_eval.py --config.generations=FILE --config.references=FILE
    python run_experiment.py --config=configs/generative_eval.py:paper --config.vectors.source=/path/to/wiki.en.bin

Files: generations `[{"image_id", "round_id" (from 0), "generations": [str]}]`, references in DenseVisDial's layout,
either of them gzipped or not; several kinds of references as --config.references=H=FILE,S=FILE. For the embedding
metrics name word vectors (--config.vectors.source) and a BERT (--config.bert=FOLDER); a model by --config.variant=NAME.

Without files: `cca_aq_g` (CCA-AQ's generations; the default) or `popular` (answers of train whatever the question, a
control), 15 a question, against H and Sigma of CCA-AQ* on the test split's annotated rounds. With `-paper` (or `:paper`
alone) VisDial v1.0, Sigma of all of validation. The default takes about half a minute on two cores.
The paper's CCA-AQ-G on VisDial, k = 1, against H: CIDEr n=1 0.0721, METEOR 0.2713.
"""

import ml_collections

from configs import cca
from vatex_jax.errors import ConfigError

VARIANTS = ("cca_aq_g", "popular")


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: VARIANT, VARIANT-paper, or paper."""
    variant, paper = (spec.removesuffix("-paper"), True) if spec.endswith("-paper") else (spec, spec == "paper")
    variant = "" if variant == "paper" else variant
    if variant not in ("", *VARIANTS):
        raise ConfigError(
            f"configs/generative_eval.py has no variant {spec!r}: {', '.join(VARIANTS)}, each with -paper, or paper. "
            "Answers of another model are given in --config.generations and --config.references."
        )
    of_cca = cca.get_config("paper" if paper else "")
    config = ml_collections.ConfigDict()
    config.experiment = "generative_eval"
    config.variant = variant  # empty: cca_aq_g, with files the name of the generations' file
    config.seed = 0
    config.generations = ""  # a file; empty: the data set's, by CCA-AQ
    config.references = ""  # FILE, or NAME=FILE,NAME=FILE
    config.metrics = ("cider", "sbleu", "meteor")
    config.ks = ()  # numbers of generations; empty: 1, 5, 10, 15 as far as there are so many, and the most
    config.bert = ""  # a folder in the Hugging Face layout; empty: without BERT
    config.bert_pooling = "first"  # piece, as published, or the mean
    config.bert_pieces = 16  # of a sentence, special ones counted
    for section in ("data", "vectors", "cca", "training", "generation", "eval"):
        config[section] = of_cca[section]
    config.generation.generations = 15
    config.sigma = ml_collections.ConfigDict({"rounds": "all" if paper else "annotated"})
    return config
