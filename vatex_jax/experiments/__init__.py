"""Experiments tie the library together; each module has `run(config, workdir, mode, overwrite)`."""

EXPERIMENTS = {
    "translation": "vatex_jax.experiments.translation",
    "captioning": "vatex_jax.experiments.captioning",
    "cca": "vatex_jax.experiments.cca",
    "reference_sets": "vatex_jax.experiments.reference_sets",
    "generative_eval": "vatex_jax.experiments.generative_eval_run",
    "table": "vatex_jax.experiments.table",
}
"""`config.experiment` to module; imported when chosen, so that host-side experiments never load jax."""
