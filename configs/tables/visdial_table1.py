"""Visual dialogue, Table 1 (section 4.2.2): reference sets Sigma of CCA-AQ* against people's H.

    python run_experiment.py --config=configs/tables/visdial_table1.py   # simulated data, 5 seeds; resumes
    python run_experiment.py --config=configs/tables/visdial_table1.py:v1.0 --config.run.vectors.source=wiki.en.bin

Two rows of Table 10, and those that the paper's claims compare Sigma with; see there.
"""

import ml_collections

from configs.tables import visdial_table10


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: v1.0, or nothing."""
    return visdial_table10.table("visdial_table1", spec)
