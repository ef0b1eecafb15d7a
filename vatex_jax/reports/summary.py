"""What a person reads at the end of a run: the scores, what they are worth, some outputs."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from vatex_jax.metrics.bleu import format_signature
from vatex_jax.reports import published
from vatex_jax.reports.cells import kind, of_metric
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
        blocks = "\n\n".join(example_lines(example) for example in examples)
        known = any(example.get("no_video") is not None for example in examples)
        title = "Translations whose sense only the video tells" if known else "Some translations"
        parts.append(f"{title}\n\n{blocks}")
    parts.append(f"Results are in {os.fspath(folder)}")
    return "\n\n".join(parts)


def captioning_summary(
    result: dict[str, Any],
    examples: Sequence[tuple[str, Mapping[str, tuple[str, str]]]],
    folder: str | os.PathLike,
) -> str:
    """Returns the summary of a captioning run as text.

    Args:
      result: a valid result (`reports.results`) with the COCO metrics by language.
      examples: (video id, {language: (caption, a reference)}).
      folder: where the run's files are.
    """
    data, metrics, signature = result["dataset"], result["metrics"], result["signature"]
    size = f", {data['sizes'][data['split']]} videos" if data["split"] in data["sizes"] else ""
    languages = [name.removesuffix("/cider") for name in metrics if name.count("/") == 1 and name.endswith("/cider")]
    languages = [name for name in languages if "-" not in name]
    grid = text_grid(
        ["", *_CAPTION_COLUMNS.values()],
        [
            [name, *(f"{metrics[f'{name}/{metric}']:.{_places(metric)}f}" for metric in _CAPTION_COLUMNS)]
            for name in languages
        ],
        [False] + [True] * len(_CAPTION_COLUMNS),
    )
    shown = "\n\n".join(
        "\n".join(
            [f"  {video}"]
            + [line for name, (ours, reference) in said.items()
               for line in (f"    {name}  ours       {one_line(ours)}", f"        reference  {one_line(reference)}")]
        )
        for video, said in examples
    )  # fmt: skip
    parts = [
        f"{result['experiment']} {result['variant']}, seed {result['seed']}, on {data['name']} {data['version']}, "
        f"{data['split']} split{size}\n{kind(data)}",
        grid,
        "\n".join(
            f"signature of {name}  {format_signature(of_metric(signature, f'{name}/cider'), 'cider')}"
            for name in languages
        ),
        f"Some captions\n\n{shown}",
        f"Results are in {os.fspath(folder)}",
    ]
    return "\n\n".join(parts)


def ranking_summary(result: dict[str, Any], examples: Sequence[Mapping[str, Any]], folder: str | os.PathLike) -> str:
    """Returns the summary of a run that ranks VisDial's candidates as text.

    Args:
      result: a valid result (`reports.results`) with the ranking metrics and their intervals.
      examples: records of predictions.jsonl.
      folder: where the run's files are.
    """
    data, metrics = result["dataset"], result["metrics"]
    grid = text_grid(
        ["", "", "95% over dialogues"],
        [
            [title, f"{metrics[name]:.{places}f}",
             f"[{metrics[f'{name}_low']:.{places}f}, {metrics[f'{name}_high']:.{places}f}]"]
            for name, title, places in _RANKING
            if name in metrics
        ],
        [False, True, True],
    )  # fmt: skip
    analysis = [
        [title, f"{metrics[name]:.2f}", _section3(result["variant"], name)]
        for name, title in _CANDIDATE_SETS.items()
        if name in metrics  # nearest neighbours correlate no answers, and some data sets have no annotations
    ]
    gaps = ", ".join(f"{metrics[f'{what}/out_of_vocabulary']:.1f}% of the {what}'" for what in ("questions", "answers"))
    parts = [
        f"{result['experiment']} {result['variant']} on {data['name']} {data['version']}, {data['split']} split, "
        f"{metrics['questions']:,.0f} questions\n{kind(data)}",
        f"Ranks of the ground truth among the candidates (chance: MR 50.5)\n\n{grid}",
        *_candidate_sets(analysis),
        "\n".join(f"{name.removeprefix('model/'):<12}{text}" for name, text in result["signature"].items()),
        f"Words without a vector: {gaps} distinct ones.",
    ]
    if "pairs" in metrics:
        parts.insert(-1, f"Fitted on {metrics['pairs']:,.0f} pairs of question and answer.")
    if metrics["tied"]:
        parts.append(f"{metrics['tied']:,.0f} ground truths share their score with other candidates: figures are "
                     "expectations over the order of the tied.")  # fmt: skip
    parts += ["Some questions\n\n" + "\n\n".join(map(_ranked_example, examples)), f"Results are in {os.fspath(folder)}"]
    return "\n\n".join(parts)


def agreement_summary(result: dict[str, Any], examples: Sequence[Mapping[str, Any]], folder: str | os.PathLike) -> str:
    """Returns the summary of a run that builds reference sets as text: Table 1 with intervals, the claims, examples.

    Args:
      result: a valid result (`reports.results`) of the experiment reference_sets.
      examples: records of predictions.jsonl.
      folder: where the run's files are.
    """
    data, metrics = result["dataset"], result["metrics"]
    rows = []
    for label, prefix, row in (("H", "H/", "H"), ("Sigma", "", "S/aq_star/gt_others")):
        for name, title in _AGREEMENT.items():
            low, high = (metrics[f"{prefix}{name}_{end}"] for end in ("low", "high"))
            std = metrics.get(f"{prefix}{name}_std")
            told = NO_FIGURE if std is None else f"{std:.2f}"
            paper = [published.figure("visdial_table1", row, f"{name}{end}") for end in ("", "_std")]
            rows.append([label, title, f"{metrics[prefix + name]:.2f}", f"({told})", f"[{low:.2f}, {high:.2f}]",
                         "{:.2f} ({:.2f})".format(*paper)])  # fmt: skip
    claims = [
        [title, f"{metrics[f'{name}/precision_gap']:+.2f}",
         f"[{metrics[f'{name}/precision_gap_low']:+.2f}, {metrics[f'{name}/precision_gap_high']:+.2f}]"]
        for name, title in _CLAIMS.items()
    ]  # fmt: skip
    written = ", ".join(f"{name.partition('/')[0]} {value:,.0f}" for name, value in metrics.items()
                        if name.endswith("/released"))  # fmt: skip
    parts = [
        f"{result['experiment']} {result['variant']} on {data['name']} {data['version']}, {data['split']} split, "
        f"{metrics['questions']:,.0f} annotated questions\n{kind(data)}",
        "Reference sets against people's H (Table 1)\n\n"
        + text_grid(["", "", "mean", "(std)", "95% over questions", "paper (VisDial)"], rows, [False] * 2 + [True] * 4),
        "Sigma's precision, percentage points above that of\n\n"
        + text_grid(["", "", "95% over questions"], claims, [False, True, True]),
        "\n".join(f"{name.removeprefix('model/'):<12}{text}" for name, text in result["signature"].items()),
        "Some questions; (!): an answer that is not in H\n\n" + "\n\n".join(map(_set_example, examples)),
        f"Sets written: {written}. Results are in {os.fspath(folder)}",
    ]
    return "\n\n".join(parts)


_AGREEMENT = {
    "iou": "intersection over union, %",
    "precision": "precision, %",
    "recall": "recall, %",
    "size": "answers",
}
_CLAIMS = {"star_over_aq": "Sigma of CCA-AQ instead of CCA-AQ*", "sigma_over_m": "M instead of Sigma"}


def _set_example(record: Mapping[str, Any]) -> str:
    human, ours = set(record["human"]), record["sigma"]
    told = [f"{one_line(text)}{'' if text in human else ' (!)'}" for text in ours[:_SET_SHOWN]]
    told += [f"and {len(ours) - _SET_SHOWN} more"] * (len(ours) > _SET_SHOWN)
    return "\n".join([
        f"  {one_line(record['question'])}",
        f"    ground truth  {one_line(record['answer'])}",
        f"    Sigma         {', '.join(told)}",
    ])  # fmt: skip


_SET_SHOWN = 12
"""Answers of a set that an example shows."""

_RANKING = (("mr", "MR", 2), ("r@1", "R@1, %", 2), ("r@5", "R@5, %", 2), ("r@10", "R@10, %", 2), ("mrr", "MRR", 4),
            ("ndcg", "NDCG", 4))  # fmt: skip
_CANDIDATE_SETS = {
    "cluster_correlation": "correlation of the answers around the ground truth",
    "cluster_spread": "its standard deviation",
    "size": "number of these answers",
    "no_full_relevance": "annotated, no candidate of relevance 1, %",
    "rejected_ground_truth": "annotated, ground truth of relevance 0, %",
    "train/no_full_relevance": "the same in train: no candidate of relevance 1, %",
    "train/rejected_ground_truth": "the same in train: ground truth of relevance 0, %",
}
NO_FIGURE = "-"


def _candidate_sets(rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    return [
        "The candidate sets (section 3.2)\n\n" + text_grid(["", "here", "paper (VisDial)"], rows, [False, True, True]),
        f"Paper: {published.tables()['visdial_section3']['caption'].partition('. ')[2]}",
    ]


def _section3(variant: str, name: str) -> str:
    """The paper's figure: shares of annotations are the data's, the rest is CCA-AQ's."""
    row = "aq" if name.endswith(("no_full_relevance", "rejected_ground_truth")) else variant
    figure = published.figure("visdial_section3", row, name)
    return NO_FIGURE if figure is None else f"{figure:.2f}"


def _ranked_example(record: Mapping[str, Any]) -> str:
    lines = [f"  {one_line(record['question'])}"]
    if "answer" in record:
        lines.append(f"    ground truth  {one_line(record['answer'])} (rank {record['rank']:g})")
    lines.append(f"    ranked first  {', '.join(one_line(best['answer']) or '' for best in record['best'])}")
    if "generations" in record:
        lines.append(f"    generated     {', '.join(one_line(text) or '' for text in record['generations'])}")
    return "\n".join(lines)


_CAPTION_COLUMNS = {
    "bleu4": "BLEU-4", "meteor": "METEOR", "rouge_l": "ROUGE-L", "cider": "CIDEr", "distinct2": "distinct-2",
    "novel": "novel %", "vocabulary": "words used", "length": "length",
}  # fmt: skip


def _places(metric: str) -> int:
    return {"distinct2": 3, "vocabulary": 0}.get(metric, 1)


def one_line(text: str | None) -> str | None:
    """A caption as a terminal can show it: white space and control characters as single spaces."""
    if text is None:
        return None
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


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


def example_lines(example: Mapping[str, str | None], lines: Sequence[tuple[str, str]] = _EXAMPLE_LINES) -> str:
    """Some fields of an example, each with its label; those that are None are left out."""
    width = max(len(label) for _, label in lines)
    said = ((label, one_line(example.get(field))) for field, label in lines)
    return "\n".join(f"  {pad(label, width)}  {text}".rstrip() for label, text in said if text is not None)
