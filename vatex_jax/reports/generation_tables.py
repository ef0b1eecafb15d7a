"""Tables 4, 6 and 7 of visual dialogue: which results of the revised evaluation stand in which row and column.

Rows are those of the models there are results of: any number, under any names; beside the names the paper knows stand
its figures. Its sigma is the deviation over questions of their means over k, and stands beside ours of that kind.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vatex_jax.metrics.generations import KS
from vatex_jax.reports.cells import Column, Picture, Row, Run, Table
from vatex_jax.reports.generation_curves import draw_runs

MODELS = {
    "cca_aq_g": "CCA-AQ-G",
    "hrea_qih_g": "HREA-QIH-G",
    "hrea_qih_g_beam": "HREA-QIH-G*",
    "mna_qih_g_beam": "MNA-QIH-G*",
    "hciae_g_dis": "HCIAE-G-DIS",
    "rva": "RvA",
}
"""The paper's models, by the names that results and published.json have them under."""

CONTROLS = {"popular": "popular answers (control)"}
_SETS = {"H": "H", "S": "Sigma"}
_STATISTICS = (("mean", "mean", "mean"), ("data_std", "(std)", "std"), ("best", "best", "best"))
_OVERLAP = {
    **{f"cider{n}": f"CIDEr n={n}" for n in range(1, 5)},
    **{f"sbleu{n}": f"BLEU n={n}" for n in range(1, 5)},
    "meteor1": "METEOR",
}
_COMPARED = ("cider1", "sbleu1", "meteor1", "bert_cs", "fasttext_cs")
_CURVES = Picture("generations.png", "Each metric against k", draw_runs)
_K = re.compile(r"[^/]+/k([1-9][0-9]*)/[^/]+/mean")


def _is_papers_bert(signature: Any) -> bool:
    return isinstance(signature, str) and signature.startswith(
        "12 layers of 768, 30522 pieces, first piece of at most 16,"
    )


def _is_fasttext(source: Any) -> bool:
    return isinstance(source, str) and Path(source).name == "wiki.en.bin"


def _columns(sets: str, prefix: str, bleu: bool) -> list[Column]:
    """Columns of one kind of reference sets; `prefix` is what the paper's columns have before the metric.

    L2 and cosine of other vectors than the paper's are on another scale: these have columns of their own.
    """
    before = f"{_SETS[sets]}: " if prefix else ""
    found = [
        Column(f"{before}{title}", {}, f"{sets}/{name}", f"{prefix}{name}", 4, True, name in _COMPARED, True)
        for name, title in _OVERLAP.items()
        if bleu or not name.startswith("sbleu")
    ]
    for name, place, papers, title, others in (
        ("bert", "signature.bert", _is_papers_bert, "BERT base", "another BERT"),
        ("fasttext", "config.vectors.source", _is_fasttext, "FastText", "other words"),
    ):
        for metric, sign in (("l2", "L2"), ("cs", "CS")):
            own, compared = f"{name}_{metric}", f"{name}_{metric}" in _COMPARED
            for label, test, figures in ((title, papers, f"{prefix}{own}"), (others, _not(papers), None)):
                found.append(
                    Column(f"{before}{label} {sign}", {place: test}, f"{sets}/{own}", figures, 4, True, compared, True)
                )
    return found


def _not(test: Any) -> Any:
    return lambda value: not test(value)


def _models(runs: Sequence[Run]) -> dict[str, str]:
    """Names and labels of the models that there are results of: the paper's first, then controls, then others."""
    there = dict.fromkeys(run.result["variant"] for run in runs if run.result["experiment"] == "generative_eval")
    known = {name: label for name, label in (MODELS | CONTROLS).items() if name in there or not there}
    return known | {name: name for name in there if name not in known}


def _base(models: dict[str, str]) -> str:
    """The label of the model that others are compared with: the control, or the first."""
    return next((label for name, label in models.items() if name in CONTROLS), next(iter(models.values())))


def table4(runs: Sequence[Run] = ()) -> Table:
    """One generation against H and Sigma, and the best of Gamma."""
    models, gamma = _models(runs), "Gamma, best"
    base = _base(models)
    rows = [Row(gamma, {}, "gamma", True, gamma, generated="Gamma", statistic="best", shared=True)]
    rows += [
        Row(label, {"variant": name}, name, True, base, generated="k1", statistic="mean")
        for name, label in models.items()
    ]
    columns = [column for sets in _SETS for column in _columns(sets, f"{sets}/", bleu=False)]
    return Table(
        title="One generation against H and Sigma",
        published="visdial_table4",
        experiment="generative_eval",
        rows=tuple(rows),
        columns=tuple(columns),
        source="VisDial",
        of_runs=table4,
        picture=_CURVES,
    )


def table6(runs: Sequence[Run] = ()) -> Table:
    """k generations against H."""
    return _of_k("visdial_table6", "H", runs)


def table7(runs: Sequence[Run] = ()) -> Table:
    """k generations against Sigma."""
    return _of_k("visdial_table7", "S", runs)


def _of_k(table: str, sets: str, runs: Sequence[Run]) -> Table:
    models = _models(runs)
    base = _base(models)
    ks = {int(match[1]) for run in runs for name in run.result["metrics"] if (match := _K.fullmatch(name))} or {*KS}
    rows = [Row("A_gt, mean", {}, "a_gt/mean", True, "A_gt, mean", generated="A_gt", statistic="mean", shared=True)]
    rows += [
        Row(f"Gamma, {title}", {}, f"gamma/{paper}", True, f"Gamma, {title}", generated="Gamma", statistic=statistic,
            shared=True)
        for statistic, title, paper in _STATISTICS
    ]  # fmt: skip
    for name, label in models.items():
        for k in sorted(ks):
            for statistic, title, paper in _STATISTICS:
                if k == 1 and statistic == "best":
                    continue  # of one, the best is the mean
                own = f"{label} (k = {k}), {title}"
                other = own if statistic == "data_std" else f"{base} (k = {k}), {title}"
                rows.append(Row(own, {"variant": name}, f"{name}/k{k}/{paper}", True, other, generated=f"k{k}",
                                statistic=statistic))  # fmt: skip
    return Table(
        title=f"k generations against {_SETS[sets]} (std: over questions, of their means over k)",
        published=table,
        experiment="generative_eval",
        rows=tuple(rows),
        columns=tuple(_columns(sets, "", bleu=True)),
        source="VisDial",
        of_runs={"H": table6, "S": table7}[sets],
        picture=_CURVES,
    )
