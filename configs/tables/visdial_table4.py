"""Visual dialogue, Table 4 (section 5.1): one generation against people's sets H and against Sigma.

    python run_experiment.py --config=configs/tables/visdial_table4.py   # simulated data; resumes
    python run_experiment.py --config=configs/tables/visdial_table4.py:v1.0 --config.run.vectors.source=wiki.en.bin

Made of the runs of Table 6; see there, also for other people's models.
"""

import ml_collections

from configs.tables import visdial_table6


def get_config(spec: str = "") -> ml_collections.ConfigDict:
    """`spec`: v1.0, or nothing."""
    return visdial_table6.table("visdial_table4", spec)
