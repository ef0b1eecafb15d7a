"""What a person reads at the end of a run of masked translation."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from vatex_jax.metrics.bleu import format_signature
from vatex_jax.reports.cells import kind
from vatex_jax.reports.grid import text_grid
from vatex_jax.reports.summary import example_lines

_ROWS = (
    ("bleu4", "BLEU-4"),
    ("noun_recovery", "nouns recovered, of all in the references, %"),
    ("verb_recovery", "verbs recovered, of all in the references, %"),
    ("masked_recovery", "masked words recovered, %"),
)
_EXAMPLE = (("source", "source"), ("masked", "masked"), ("reference", "reference"), ("ours", "ours"))


def masked_summary(
    result: dict[str, Any], examples: Sequence[Mapping[str, str | None]], folder: str | os.PathLike
) -> str:
    """Returns the summary as text.

    Args:
        result: a valid result (`reports.results`) of a masked translation.
        examples: translations: `source`, `masked`, `reference`, `ours`.
        folder: where the run's files are.
    """
    data, metrics, masking = result["dataset"], result["metrics"], result["config"]["mask"]
    rows = [
        [label, f"{metrics[name]:.2f}", f"[{metrics[f'{name}_low']:.2f}, {metrics[f'{name}_high']:.2f}]"]
        for name, label in _ROWS
        if name in metrics
    ]
    said = f"{masking['kind']}s masked: {metrics['masked']:.1f}% ({masking['rate']:g} wanted)"
    if "aligned" in metrics:
        said += f"; {metrics['aligned']:.1f}% of them aligned by {result['signature']['alignment']}"
    if "aligner_precision" not in metrics and "aligner_mutual" in metrics:
        said += f" ({metrics['aligner_mutual']:.1f}% of them mutual best)"
    if "aligner_precision" in metrics:
        said += (
            f" (one that learned from the training pairs aligns {metrics['aligner_coverage']:.1f}% of these, "
            f"{metrics['aligner_precision']:.1f}% of them as the world does)"
        )
    parts = [
        f"masked translation {result['variant']}, seed {result['seed']}, on {data['name']} {data['version']}, "
        f"{data['split']} split\n{kind(data)}",
        said,
        text_grid(["", "", "95% over sentences"], rows, [False, True, False]),
        f"signature  {format_signature(result['signature'], 'bleu4')}\n"
        f"masks      {result['signature']['masks']}\nrecovery   {result['signature']['recovery']}",
    ]
    if examples:
        parts.append("Some translations\n\n" + "\n\n".join(example_lines(one, _EXAMPLE) for one in examples))
    parts.append(f"Results are in {os.fspath(folder)}")
    return "\n\n".join(parts)
