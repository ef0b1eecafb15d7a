"""Visual dialogue, Table 5 (appendix A): the rows that rank without a model of dialogue.

    python run_experiment.py --config=configs/tables/visdial_table5.py   # simulated data: ten seconds
    python run_experiment.py --config=configs/tables/visdial_table5.py:v1.0 --config.run.vectors.source=wiki.en.bin
    python run_experiment.py --config=configs/tables/visdial_table5.py:v1.0-text --config.run.vectors.source=wiki.en.bin

`v1.0` and `v0.9` are real VisDial, built with image features; `v1.0-text` and `v0.9-text` leave out the rows that look
at images, for a data set without them. These have the published settings; naming real VisDial in the default's
`config.run.data.name` keeps those of the simulated worlds. Ranking has no seeds: intervals and comparisons are over
dialogues. The paper's figures are of the test server (v1.0), ours of validation. Results of simulated data are kept in
results/visdial_table5 and not run again, those of real data in the work folder; --config.results_dir names another.
"""

import ml_collections

from configs import cca
from vatex_jax.errors import ConfigError

SPECS = ("", "v1.0", "v0.9", "v1.0-text", "v0.9-text")


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: a VisDial version, with -text to leave out images, or nothing."""
    if spec not in SPECS:
        raise ConfigError(f"configs/tables/visdial_table5.py has no {spec!r}: there are {', '.join(SPECS[1:])}.")
    version = spec.removesuffix("-text")
    config = ml_collections.ConfigDict()
    config.experiment = "table"
    config.table = "visdial_table5_v09" if version == "v0.9" else "visdial_table5"
    config.seeds = (0,)
    config.run = cca.get_config("paper" if spec else "")
    if version:
        config.run.data.name = f"visdial/{version}"
    variants = [name for name in cca.VARIANTS if not (spec.endswith("-text") and name.endswith("aqi"))]
    generated = config.run.generation.generations
    config.rows = ml_collections.ConfigDict(
        {name: {"generation": {"generations": generated if name == "aq" else 0}} for name in variants}
    )
    config.results_dir = ""  # empty: results/visdial_table5 for simulated data, else the work folder
    return config
