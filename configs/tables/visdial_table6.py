"""Visual dialogue, Table 6 (appendix C): k generations a question against people's sets H; Figure 3 beside it.

    python run_experiment.py --config=configs/tables/visdial_table6.py   # simulated data; resumes
    python run_experiment.py --config=configs/tables/visdial_table6.py --config.models=rva=FILE,mine=FILE \\
        --config.run.references=H=FILE,S=FILE --workdir=runs/models
    python run_experiment.py --config=configs/tables/visdial_table6.py:v1.0 --config.run.vectors.source=wiki.en.bin

Rows are models: on simulated data CCA-AQ-G and a control that says what is often said, whatever the question; of
`config.models` each one's file of generations. A model by a name of the paper's (cca_aq_g, hrea_qih_g, hrea_qih_g_beam,
mna_qih_g_beam, hciae_g_dis, rva) has the paper's figures beside it. Tables 4 and 7 share the runs.

`v1.0` is real VisDial: CCA-AQ-G with the published settings, Sigma of all of validation.
"""

import ml_collections

from configs import generative_eval
from vatex_jax.errors import ConfigError

SPECS = ("", "v1.0")


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: v1.0, or nothing."""
    return table("visdial_table6", spec)


def table(name: str, spec: str) -> ml_collections.ConfigDict:
    """A table of the revised evaluation, whose runs Tables 4, 6 and 7 share."""
    if spec not in SPECS:
        raise ConfigError(f"configs/tables/{name}.py has no {spec!r}: there is v1.0.")
    config = ml_collections.ConfigDict()
    config.experiment = "table"
    config.table = name
    config.results_of = "visdial_table6"
    config.seeds = (0,)
    config.run = generative_eval.get_config("paper" if spec else "")
    config.run.eval.figures = False
    config.rows = ml_collections.ConfigDict({variant: {} for variant in generative_eval.VARIANTS})
    config.models = ""  # NAME=FILE,NAME=FILE: generations of other models instead of these rows
    config.results_dir = ""  # empty: results/visdial_table6 for simulated data, else the work folder
    return config
