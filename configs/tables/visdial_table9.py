"""Visual dialogue, Table 9 (appendix D): Table 8 without training on validation; the paper ranks validation here.

    python run_experiment.py --config=configs/tables/visdial_table9.py   # simulated data, 5 seeds; resumes
    python run_experiment.py --config=configs/tables/visdial_table9.py:v1.0 --config.run.vectors.source=wiki.en.bin

See Table 8. Appendix D.1 speaks of Tables 8 and 9 the wrong way round.
"""

import ml_collections

from configs import cca
from configs.tables import visdial_table8

VARIANTS = ("aq", *(name for name in cca.TRAINED_ON if "trainval" not in name))


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: v1.0, or nothing."""
    return visdial_table8.table("visdial_table9", VARIANTS, spec)
