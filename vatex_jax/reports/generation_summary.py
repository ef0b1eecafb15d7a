"""What a person reads at the end of a revised evaluation: a grid of scores for each kind of reference sets."""

import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from vatex_jax.reports.cells import kind
from vatex_jax.reports.generation_curves import curves
from vatex_jax.reports.grid import text_grid
from vatex_jax.reports.summary import NO_FIGURE, one_line

SHORT = {
    **{f"cider{n}": f"CIDEr{n}" for n in range(1, 5)},
    **{f"sbleu{n}": f"BLEU{n}" for n in range(1, 5)},
    "meteor1": "METEOR", "bert_l2": "BERT L2", "bert_cs": "CS", "fasttext_l2": "words L2", "fasttext_cs": "CS",
}  # fmt: skip
_WIDTH = 100  # of a text in an example
_SHOWN = 5
"""Generations and references that an example shows."""


def generation_summary(result: dict[str, Any], examples: Sequence[Mapping[str, Any]], folder: str | os.PathLike) -> str:
    """Returns the summary as text.

    Args:
      result: a valid result (`reports.results`) of the experiment generative_eval.
      examples: records of predictions.jsonl.
      folder: where the run's files are.
    """
    data, metrics = result["dataset"], result["metrics"]
    version = f" {data['version']}" if data["version"] else ""
    parts = [
        f"{result['experiment']}: {result['variant']} on {data['name']}{version}, {data['split']} split\n{kind(data)}"
    ]
    found = curves(metrics)
    for sets in (name.removesuffix("/set_size") for name in metrics if name.endswith("/set_size")):
        ks = sorted(
            int(match[1]) for name in metrics if (match := re.fullmatch(rf"{re.escape(sets)}/k(\d+)/scored", name))
        )
        columns = list(found.get(sets, {}))
        parts.append(_heading(metrics, sets, ks[-1]))
        parts += [_grid(metrics, sets, ks, columns)] if columns else ["Nothing to score."]
    signature = result["signature"]
    width = max(map(len, signature), default=0) + 2
    parts += [
        "std: over questions, of their means over k (the paper's sigma); best: of k, for L2 the least; Gamma: each "
        "reference in turn.",
        "\n".join(f"{name.removeprefix('model/'):<{width}}{text}" for name, text in signature.items()),
    ]
    if "out_of_vocabulary" in metrics:
        parts.append(f"Words of distinct sentences without a vector: {metrics['out_of_vocabulary']:.1f}%.")
    parts += ["Some questions\n\n" + "\n\n".join(map(_example, examples)), f"Results are in {os.fspath(folder)}"]
    return "\n\n".join(parts)


def _heading(metrics: Mapping[str, float], sets: str, most: int) -> str:
    """How much there is, and what was left out, by the largest k."""
    told = (
        f"Against {sets}: {metrics[f'{sets}/questions']:,.0f} questions of {metrics[f'{sets}/set_size']:.1f} references"
    )
    for name, what in (
        ("empty", "empty generations, left out"),
        ("unscored", "questions without a generation to score, left out"),
        ("fewer", f"questions with fewer than {most} generations"),
    ):
        count = metrics[f"{sets}/k{most}/{name}"]
        told += f"; {count:,.0f} {what}" if count else ""
    return told


def _grid(metrics: Mapping[str, float], sets: str, ks: Sequence[int], columns: Sequence[str]) -> str:
    rows = [("A_gt", "A_gt", "mean"), ("Gamma", "Gamma", "mean"), ("Gamma", "Gamma", "best")]
    for k in ks:
        rows += [(f"k = {k}", f"k{k}", statistic) for statistic in ("mean", "data_std", "best")]
    titles = {"mean": "mean", "data_std": "(std)", "best": "best"}
    lines, last = [], ""
    for label, generated, statistic in rows:
        found = (metrics.get(f"{sets}/{generated}/{column}/{statistic}") for column in columns)
        form = "({:.4f})" if statistic == "data_std" else "{:.4f}"
        figures = [NO_FIGURE if value is None else form.format(value) for value in found]
        lines.append([label if label != last else "", titles[statistic], *figures])
        last = label
    return text_grid(["", "", *(SHORT[column] for column in columns)], lines, [False] * 2 + [True] * len(columns))


def _example(record: Mapping[str, Any]) -> str:
    first = record["scores"].get("cider1") or [None] * len(record["generations"])
    told = [f"{_short(text) or '(empty)'}{'' if value is None else f' ({value:.2f})'}"
            for text, value in zip(record["generations"][:_SHOWN], first, strict=False)]  # fmt: skip
    references = [_short(text) for text in record["references"][:_SHOWN]]
    unit = "  (CIDEr1)" * ("cider1" in record["scores"])
    return "\n".join([
        f"  {_short(record['question'])}",
        f"    ground truth  {_short(record['answer'])}",
        f"    references    {', '.join(references)}{_more(record['references'])}",
        f"    generated     {', '.join(told)}{_more(record['generations'])}{unit}",
    ])  # fmt: skip


def _short(text: str | None) -> str:
    """An answer as a terminal can show it, in a line."""
    return textwrap.shorten(one_line(text) or "", _WIDTH, placeholder=" ...")[:_WIDTH]


def _more(texts: Sequence[str]) -> str:
    return f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
