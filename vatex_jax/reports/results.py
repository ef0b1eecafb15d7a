"""results.json: what one run found, in one schema for every experiment.

Tables, plots and pages are made from these files alone, so a file that breaks the schema is refused when it is written
and again when it is read, with the field's name.
"""

import difflib
import json
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from vatex_jax.errors import DataError
from vatex_jax.files import write_json_whole
from vatex_jax.reports.earlier import completed

FILE_NAME = "results.json"

FIELDS = {
    "experiment": str,  # name of the experiment, for example "translation"
    "variant": str,  # row or model of its config, "" where it has none
    "seed": int,
    "dataset": dict,  # DATASET_FIELDS
    "metrics": dict,  # {metric name: finite number}
    "signature": dict,  # {tokeniser, segmenter, metric: str}: how the scores were counted
    "parameters": int,  # of the model, 0 where there is none
    "timing": dict,  # {name: seconds}
    "software": dict,  # {package: version, "commit": hash}, None where unknown
    "config": dict,
}
DATASET_FIELDS = {
    "name": str,
    "version": str,
    "split": str,  # the split the metrics are of
    "sizes": dict,  # {split: examples}
    "fingerprint": str,
    "simulated": bool,  # a world with known answers, no real data
    "stand_in": bool,  # real language with features made from its own words: supports no claim
}

METRICS = {
    **{f"bleu{n}": "corpus BLEU, orders 1 to N, 0-100" for n in range(1, 5)},
    **{f"ngram_precision{n}": "modified n-gram precision, 0-100" for n in range(1, 5)},
    **{f"{name}{n}": "sentence metric of the revised evaluation" for name in ("cider", "sbleu") for n in range(1, 5)},
    **dict.fromkeys(("chrf", "meteor", "rouge_l", "cider"), "0-100"),
    "meteor1": "sentence METEOR, a fraction",
    "mr": "mean rank",
    **dict.fromkeys(("r@1", "r@5", "r@10"), "percent"),
    **dict.fromkeys(("mrr", "ndcg"), "0-1"),
    **{
        f"{name}_{end}": f"{'lower' if end == 'low' else 'upper'} end of the bootstrap interval of {name}"
        for name in ("mr", "r@1", "r@5", "r@10", "mrr", "ndcg")
        for end in ("low", "high")
    },
    "tied": "questions whose ground truth shares its score with other candidates",
    "questions": "questions measured",
    "scored": "generations of these with a score",
    "empty": "generations without a word, left out",
    "unscored": "questions without any generation to score, left out",
    "fewer": "questions with fewer generations than k",
    "set_size": "references a question",
    "distinct": "distinct generations a question",
    "annotated": "questions with relevances",
    "undefined_ndcg": "of these, those without a relevant candidate, left out of ndcg",
    "cluster_correlation": "mean correlation of a candidate set's answers like the ground truth",
    "cluster_spread": "standard deviation of these correlations",
    "no_full_relevance": "percent of the annotated questions without a candidate of relevance 1",
    "rejected_ground_truth": "percent of the annotated questions whose ground truth has relevance 0",
    "out_of_vocabulary": "percent of the words of distinct sentences that have no vector",
    **dict.fromkeys(("bert_l2", "bert_cs", "fasttext_l2", "fasttext_cs"), "as in the VisDial tables"),
    **dict.fromkeys(("iou", "precision", "recall"), "percent"),
    "size": "answers in a reference set",
    "ground_truth_inside": "percent of the reference sets that hold the ground truth",
    "correlation": "mean correlation within a reference set",
    "correlation_spread": "standard deviation of these correlations; sets of one are left out",
    **{
        f"{name}_{end}": text.format(name)
        for name in (
            "iou",
            "precision",
            "recall",
            "size",
            "ground_truth_inside",
            "correlation",
            "correlation_spread",
            "precision_gap",
        )
        for end, text in (
            ("std", "standard deviation of {} over questions"),
            ("low", "lower end of its interval"),
            ("high", "upper end of its interval"),
        )
    },
    "precision_gap": "difference of two reference sets' precision, percentage points",
    "released": "reference sets written",
    "pairs": "pairs of question and answer that a model was trained on",
    "noun_recovery": "percent of the references' nouns that the translations hold",
    "verb_recovery": "percent of the references' verbs that the translations hold",
    "masked_recovery": "percent of the masked source words whose translation the translations hold",
    **{
        f"{name}_recovery_{end}": f"{'lower' if end == 'low' else 'upper'} end of the bootstrap interval of it"
        for name in ("noun", "verb", "masked")
        for end in ("low", "high")
    },
    "masked": "percent of the source's words of a kind that are masked",
    "aligned": "percent of the masked words that have an aligned word in the reference",
    "aligner_mutual": "percent of an aligner's alignments of which neither word has a likelier partner",
    "aligner_precision": "percent of an aligner's alignments that are a simulated world's own, where it has one",
    "aligner_coverage": "percent of the words a simulated world aligns that an aligner aligns",
    **dict.fromkeys(("distinct1", "distinct2"), "share"),
    "self_bleu4": "0-100",
    "novel": "percent of captions not seen in training",
    "vocabulary": "words used",
    "length": "words a caption",
    "bleu4_low": "lower end of the bootstrap interval of bleu4",
    "bleu4_high": "upper end of the bootstrap interval of bleu4",
    "oracle_bleu4": "a simulated world's own BLEU-4 for a translator that knows the senses",
    "ceiling_bleu4": "a simulated world's own BLEU-4 for the most probable translation without the video",
    "sense_accuracy": "percent of ambiguous tokens translated in the right sense",
    "brevity_penalty": "0-1",
    "hypothesis_length": "tokens of the corpus",
    "reference_length": "tokens of the corpus, closest references",
    "empty_hypotheses": "sentences",
    "sentences": "sentences scored",
    "videos": "with a caption in a language",
    "captions": "in a language",
    "captions_per_video": "of videos with any",
    "classes": "distinct action labels",
    "intra_video_duplicates": "percent of the videos with two equal captions",
    "inter_video_duplicates": "percent of the captions that stand at another video too",
    **{f"unique_{n}gram": "distinct in the corpus" for n in range(1, 5)},
    **{f"unique_{kind}": "distinct words of the corpus" for kind in ("noun", "verb", "adjective", "adverb")},
    **{f"{kind}s_per_caption": "distinct words a caption, on average" for kind in ("noun", "verb")},
    "rejected": "percent of the captions that a quality rule rejects",
    "loss": "nats a target token",
    "perplexity": "exp(loss)",
}
SUFFIXES = ("mean", "k_std", "best", "data_std")
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_GENERATED = re.compile(r"k[1-9][0-9]*|A_gt|Gamma")
"""A second prefix: how many generations a question count, or answers known to be right in their place."""

PACKAGES = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "grain", "numpy", "tensorflow-datasets", "sacrebleu",
            "jieba")  # fmt: skip


def validate(result: Any, where: str = "result") -> None:
    """Checks a result against the schema.

    Args:
      result: what is to be, or was, a results.json.
      where: what the errors call it, for example the file's path.

    Raises:
      DataError: naming the field and what is wrong with it.
    """
    _check_fields(result, FIELDS, where)
    _check_fields(result["dataset"], DATASET_FIELDS, f"{where}: dataset")
    for field in ("seed", "parameters"):
        _require(result[field] >= 0, f"{where}: {field}", "must not be negative", result[field])
    _require(result["experiment"] != "", f"{where}: experiment", "must not be empty", result["experiment"])
    for name in result["metrics"]:
        check_metric_name(name, f"{where}: metrics")
    for field, values, right, rule in (
        ("dataset.sizes", result["dataset"]["sizes"], _is_count, "must be a count of examples"),
        ("metrics", result["metrics"], _is_finite, "must be a finite number (leave the metric out where undefined)"),
        ("signature", result["signature"], _is_text, "must be text"),
        ("timing", result["timing"], _is_finite, "must be a finite number of seconds"),
        ("software", result["software"], lambda value: value is None or _is_text(value), "must be text or null"),
    ):
        for name, value in values.items():
            _require(_is_text(name), f"{where}: {field}", "must have names of text", name)
            _require(right(value), f"{where}: {field}.{name}", rule, value)
    for field in FIELDS:
        try:
            json.dumps(result[field], ensure_ascii=False, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError(f"{where}: {field}: must be plain JSON in UTF-8: {error}") from error


def check_metric_name(name: Any, where: str = "metric") -> str:
    """Returns the name's entry in METRICS; a name reads `[prefix/]metric[/suffix]`, the suffix one of SUFFIXES.

    The revised evaluation has two prefixes, `H/k15/cider1/mean`: the reference sets, and the generations that count.

    Raises:
      DataError: where the name is none of ours, with the nearest that is.
    """
    parts = name.split("/") if isinstance(name, str) else []
    if len(parts) > 1 and parts[-1] in SUFFIXES:
        parts = parts[:-1]
    if len(parts) == 3 and _GENERATED.fullmatch(parts[1]):
        parts = [parts[0], parts[2]]
    if len(parts) == 2 and _PREFIX.fullmatch(parts[0]):
        parts = parts[1:]
    if len(parts) == 1 and parts[0] in METRICS:
        return METRICS[parts[0]]
    near = difflib.get_close_matches(parts[-1] if parts else "", METRICS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "the names are in vatex_jax/reports/results.py"
    raise DataError(f"{where}: {name!r} is no metric of this project; {hint}")


def write(path: str | os.PathLike, result: dict[str, Any]) -> None:
    """Writes a valid result to `path`, the file whole or not at all.

    Raises:
      DataError: where the result breaks the schema.
    """
    validate(result, str(path))
    write_json_whole(path, result)


def read(path: str | os.PathLike) -> dict[str, Any]:
    """Reads a results.json; its configuration is completed with the fields that are younger than it (see `earlier`).

    Raises:
      DataError: where the file cannot be read, is no JSON or breaks the schema.
    """
    try:
        result = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as a results file: {error}") from error
    validate(result, str(path))
    return {**result, "config": completed(result["config"])}


def software() -> dict[str, str | None]:
    """Returns {package: version}, None for what is not installed, with `python` and the git `commit` of this checkout.

    Reads package metadata only: nothing is imported. `commit` is None outside a checkout of this project, and ends in
    `-dirty` where tracked files were changed.
    """
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {**versions, "commit": git_commit(Path(__file__).resolve().parents[2])}


def git_commit(root: Path) -> str | None:
    """Returns the commit checked out at `root`, None where `root` is not the top of a checkout or git is missing."""
    top = _git(root, "rev-parse", "--show-toplevel")
    # An installed copy may lie inside somebody else's repository, whose commit says nothing about this code.
    if top is None or Path(top).resolve() != root.resolve():
        return None
    return _git(root, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _check_fields(value: Any, fields: dict[str, type], where: str) -> None:
    _require(isinstance(value, dict), where, "must be an object", value)
    for name in value:
        if name not in fields:
            raise DataError(f"{where}: unknown field {name!r}; the fields are {', '.join(fields)}")
    for name, kind in fields.items():
        if name not in value:
            raise DataError(f"{where}: the field {name!r} is missing")
        _require(_is(value[name], kind), f"{where}: {name}", f"must be of type {kind.__name__}", value[name])


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    """isinstance, save that True and False are no integers here."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _is_finite(value: Any) -> bool:
    return _is(value, (int, float)) and abs(value) <= sys.float_info.max  # false for NaN, and for ints past any float


def _is_count(value: Any) -> bool:
    return _is(value, int) and value >= 0


def _is_text(value: Any) -> bool:
    return _is(value, str)


def _require(condition: bool, where: str, rule: str, value: Any) -> None:
    if not condition:
        raise DataError(f"{where}: {rule}, not {str(value)[:80]!r}")
