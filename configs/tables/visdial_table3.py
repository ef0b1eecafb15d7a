"""Visual dialogue, Table 3 (section 4.2.2): what Sigma is worth as training data.

    python run_experiment.py --config=configs/tables/visdial_table3.py   # simulated data, 5 seeds; resumes
    python run_experiment.py --config=configs/tables/visdial_table3.py:v1.0 --config.run.vectors.source=wiki.en.bin

Some rows of Table 8; see there.
"""

import ml_collections

from configs.tables import visdial_table8

VARIANTS = ("aq_dense_h", "aq_dense_s", "aq_dense_gt", "aq_train_s", "aq")


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: v1.0, or nothing."""
    return visdial_table8.table("visdial_table3", VARIANTS, spec)
