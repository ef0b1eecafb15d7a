"""What a person reads at the end of a translation run: the score, what it is worth, some translations."""

import os
from collections.abc import Sequence
from typing import Any

from vatex_jax.metrics.bleu import format_signature
from vatex_jax.reports.cells import kind
from vatex_jax.reports.grid import pad, text_grid

_EXAMPLE_LINES = (("source", "source"), ("reference", "reference"), ("ours", "ours"), ("no_video", "no video"))


def translation_summary(
    result: dict[str, Any], examples: Sequence[dict[str, str | None]], folder: str | os.PathLike
) -> str:
    """Returns the summary of a translation run as text.

    Args:
      result: a valid result (`reports.results`) whose metrics hold `bleu4`; its interval `bleu4_low`, `bleu4_high` and
        the world's own `oracle_bleu4`, `ceiling_bleu4` are shown where they are there.
      examples: translations whose sense only the video tells: `source`, `reference`, `ours`, and `no_video` (the most
        probable translation without the video; None where none is known). Shown whole, Chinese as it is.
      folder: where the run's files are.
    """
    data, metrics = result["dataset"], result["metrics"]
    direction = result["config"].get("direction", "")
    name = " ".join(word for word in (result["experiment"], direction, result["variant"]) if word)
    size = f", {data['sizes'][data['split']]} examples" if data["split"] in data["sizes"] else ""
    parts = [
        f"{name}, seed {result['seed']}, on {data['name']} {data['version']}, {data['split']} split{size}\n"
        f"{kind(data)}",
        _score_grid(metrics),
        f"signature  {format_signature(result['signature'], 'bleu4')}",
    ]
    if examples:
        blocks = "\n\n".join(_example(example) for example in examples)
        known = any(example.get("no_video") is not None for example in examples)
        title = "Translations whose sense only the video tells" if known else "Some translations"
        parts.append(f"{title}\n\n{blocks}")
    parts.append(f"Results are in {os.fspath(folder)}")
    return "\n\n".join(parts)


def _score_grid(metrics: dict[str, float]) -> str:
    interval = ""
    if "bleu4_low" in metrics and "bleu4_high" in metrics:
        interval = f"[{metrics['bleu4_low']:.2f}, {metrics['bleu4_high']:.2f}]"
    rows = [["this run", f"{metrics['bleu4']:.2f}", interval]]
    for name, label in (
        ("oracle_bleu4", "the world's oracle, which knows the senses"),
        ("ceiling_bleu4", "the most probable translation without the video"),
    ):
        if name in metrics:
            rows.append([label, f"{metrics[name]:.2f}", ""])
    return text_grid(["", "BLEU-4", "95% over sentences"], rows, [False, True, False])


def _example(example: dict[str, str | None]) -> str:
    width = max(len(label) for _, label in _EXAMPLE_LINES)
    lines = ((label, example.get(field)) for field, label in _EXAMPLE_LINES)
    return "\n".join(f"  {pad(label, width)}  {text}".rstrip() for label, text in lines if text is not None)
