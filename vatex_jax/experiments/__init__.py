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

TRAINED = ("translation", "masked_translation", "captioning")
"""Experiments that train a model and keep checkpoints."""


def after_interruption(experiment: str) -> str:
    """Returns what the same command does after a run of the experiment was stopped."""
    if experiment in TRAINED:
        return "goes on from the last checkpoint, or starts anew if there is none"
    if experiment == "table":
        return "keeps the runs that are done and goes on with the others"
    return "starts anew, since this experiment keeps no checkpoints"
