"""Experiments tie the library together; each module has `run(config, workdir, mode, overwrite)`."""

EXPERIMENTS = {
    "translation": "vatex_jax.experiments.translation",
    "masked_translation": "vatex_jax.experiments.masked_translation",
    "captioning": "vatex_jax.experiments.captioning",
    "cca": "vatex_jax.experiments.cca",
    "reference_sets": "vatex_jax.experiments.reference_sets",
    "generative_eval": "vatex_jax.experiments.generative_eval_run",
    "corpus": "vatex_jax.experiments.corpus",
    "table": "vatex_jax.experiments.table",
}
"""`config.experiment` to module; imported when chosen, so that host-side experiments never load jax."""
