"""Corpus analysis (VaTeX, section 3): Tables 1 to 3, Figures 3 and 4, and the collection's quality rules.

    python run_experiment.py --config=configs/corpus.py                             # the simulated world's captions
    python run_experiment.py --config=configs/corpus.py --config.corpora=vatex=/path/to/vatex,msr_vtt=/path/to/videodatainfo.json
    python run_experiment.py --config=configs/corpus.py --config.corpora=mine=/path/to/mine.json --config.quality.filter=True
    python run_experiment.py --config=configs/corpus.py:paper                       # VaTeX as it was built (vatex/none)

A corpus is a folder of VaTeX's caption files, one such file, or MSR-VTT's; several are drawn in one figure. Kinds of
words are told by spaCy (English, thousands of words a second) and jieba; `--config.tags=False` leaves them out.
"""  # noqa: E501

import ml_collections

from vatex_jax.errors import ConfigError


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: paper, or nothing."""
    if spec not in ("", "paper"):
        raise ConfigError(f"configs/corpus.py has no variant {spec!r}: there is paper.")
    config = ml_collections.ConfigDict()
    config.experiment = "corpus"
    config.variant = ""
    config.seed = 0
    config.corpora = ""  # NAME=PATH,NAME=PATH; empty: the data set below
    config.data = ml_collections.ConfigDict(
        {
            "name": "vatex/none" if spec else "vatex_sim",
            "data_dir": "",  # empty: $VATEX_JAX_DATA, or data/tfds
            "chinese": "words",  # or characters
        }
    )
    config.tags = True
    config.english_pipeline = ""  # spaCy's, by name or folder; empty: en_core_web_sm
    config.chinese_pipeline = ""  # spaCy's, for tags of the Chinese Treebank, as in the paper; empty: jieba's tags
    config.quality = ml_collections.ConfigDict(
        {
            "min_english_words": 8,
            "min_chinese_characters": 15,  # of direct captions; translations are exempt
            "sensitive_words": "",  # a file of them, one a line
            "filter": False,  # write the corpus without what is rejected, in VaTeX's layout
        }
    )
    config.eval = ml_collections.ConfigDict({"figures": True})
    return config
