"""The papers' tables that can be filled from results: which results stand in which row and column."""

from collections.abc import Callable, Sequence
from typing import Any

from vatex_jax.reports import caption_sheet, masked_sheet, masking_curves
from vatex_jax.reports.cells import Column, Picture, Row, Sheet, Table, Where
from vatex_jax.reports.generation_tables import table4, table6, table7

TABLES = {
    "vatex_table5": Table(
        title="Video-guided machine translation, BLEU-4",
        published="vatex_table5",
        experiment="translation",
        rows=(
            Row("NMT without video", {"variant": "none"}, "none"),
            Row("+ average video feature", {"variant": "average"}, "average"),
            Row("+ LSTM video, no attention", {"variant": "final"}, "final"),
            Row("+ LSTM video, attention (VMT)", {"variant": "attention"}, "attention"),
            Row("shuffled video (control)", {"variant": "shuffled"}),
        ),
        columns=tuple(
            Column(direction, {"config.direction": direction}, "bleu4", f"{direction}/bleu4")
            for direction in ("en2zh", "zh2en")
        ),
    ),
}


def _one_of(*values: str) -> Callable[[Any], bool]:
    return lambda value: value in values


def _knows(language: str) -> Callable[[Any], bool]:
    return lambda languages: isinstance(languages, (list, tuple)) and language in languages


TABLES["vatex_table4"] = Table(
    title="Multilingual video captioning",
    published="vatex_table4",
    experiment="captioning",
    rows=(
        Row("Base w/o WT (two models)", {"variant": _one_of("base_en_untied", "base_zh_untied")}, "base_untied"),
        Row("Base (two models)", {"variant": _one_of("base_en", "base_zh")}, "base"),
        Row("Shared Enc", {"variant": "shared_enc"}, "shared_encoder"),
        Row("Shared Enc-Dec", {"variant": "shared_enc_dec"}, "shared_encoder_decoder"),
        Row("shuffled video (control)", {"variant": "shuffled"}),
    ),
    columns=tuple(
        Column(f"{language} {title}", {"config.model.languages": _knows(language)}, *[f"{language}/{metric}"] * 2)
        for language in ("en", "zh")
        for metric, title in (("bleu4", "BLEU-4"), ("meteor", "METEOR"), ("rouge_l", "ROUGE-L"), ("cider", "CIDEr"))
    ),
    baseline="Base (two models)",
    parameters="parameters_million",
    sheet=Sheet("captions-seed{seed}.png", "Captions", caption_sheet.draw_sheet),
)


def _masked(kind: str, percent: int) -> Where:
    """Runs with so much masked; where nothing is, one run serves nouns and verbs."""
    share = {"config.mask.rate": percent / 100}
    return share if percent == 0 else {**share, "config.mask.kind": kind}


TABLES["vatex_table6"] = Table(
    title="Masked video-guided machine translation, English to Chinese",
    published="vatex_table6",
    experiment="masked_translation",
    rows=(
        Row("NMT", {"variant": "none"}, "none"),
        Row("VMT", {"variant": "attention"}, "attention"),
        Row("VMT, other videos (control)", {"variant": "shuffled"}),
    ),
    columns=tuple(
        Column(f"{title}, {kind}s {percent}%", _masked(kind, percent), metric, f"{kind}{percent}/{metric}", sparse=True)
        for kind in ("noun", "verb")
        for metric, title in (("bleu4", "BLEU-4"), (f"{kind}_recovery", "accuracy"))
        for percent in (0, 25, 50, 75, 100)
    ),
    picture=Picture("masking.png", "BLEU-4 and accuracy against the masked share", masking_curves.draw_runs),
    sheet=Sheet("masked-seed{seed}.png", "Translations of masked captions", masked_sheet.draw_sheet),
)


def _corpus_row(label: str, language: str, published: str, own: Callable[[Any], bool], paper: bool) -> Row:
    """A corpus in one language; the paper's figures stand beside those of its own corpora, else below the table."""
    beside = {"published": published} if paper else {"kindred": published}
    return Row(label, {"dataset.name": own}, optional=True, prefix=f"{language}/", **beside)


def _named(*words: str) -> Callable[[Any], bool]:
    return lambda name: isinstance(name, str) and name.lower().partition("/")[0].replace("-", "_") in words


def _neither(*tests: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda name: not any(test(name) for test in tests)


_IS_VATEX, _IS_MSR_VTT = _named("vatex"), _named("msr_vtt", "msrvtt")
CORPUS_COLUMNS = (
    ("length", "words", 2), ("intra_video_duplicates", "intra-video, %", 1), ("inter_video_duplicates",
     "inter-video, %", 1), *((f"unique_{n}gram", f"{n}-grams", 0) for n in range(1, 5)),
    *((f"unique_{kind}", f"{kind}s", 0) for kind in ("verb", "noun", "adjective", "adverb")),
)  # fmt: skip
TABLES["vatex_table3"] = Table(
    title="Caption corpora",
    published="vatex_table3",
    experiment="corpus",
    counted=True,
    rows=(
        _corpus_row("MSR-VTT", "en", "msr_vtt", _IS_MSR_VTT, True),
        _corpus_row("VaTeX-en", "en", "en", _IS_VATEX, True),
        _corpus_row("VaTeX-zh", "zh", "zh", _IS_VATEX, True),
        _corpus_row("English", "en", "en", _neither(_IS_VATEX, _IS_MSR_VTT), False),
        _corpus_row("Chinese", "zh", "zh", _neither(_IS_VATEX, _IS_MSR_VTT), False),
    ),
    columns=tuple(
        Column(title, {}, name, name, places, optional=True, compared=False) for name, title, places in CORPUS_COLUMNS
    ),
)


_RANKING = (("mr", "MR", 2), ("r@1", "R@1", 2), ("r@5", "R@5", 2), ("r@10", "R@10", 2), ("mrr", "MRR", 4),
            ("ndcg", "NDCG", 4))  # fmt: skip
_RANKERS = {"nn_aq": "NN-AQ", "nn_aqi": "NN-AQI", "none": "no CCA", "aq": "CCA-AQ", "aqi": "CCA-AQI (Q)"}
_IMAGES = ("resnet34", "vgg16", "vgg19")
# The paper's rows by vectors and image features: the last part of their names in published.json.
_PUBLISHED = {("FastText", ""): "", ("FastText", "resnet34"): "", ("GloVe", ""): "/glove", ("GloVe", "vgg16"): "/vgg16",
              ("GloVe", "vgg19"): "/vgg19"}  # fmt: skip


def _visdial_table5(version: str, of_version: Callable[[Any], bool], metrics: Sequence[tuple[str, str, int]]) -> Table:
    """Appendix A's rows that rank without a model of dialogue, by the vectors and image features they have."""
    rows = [
        _ranker(version or "v1.0", variant, vectors, images, {"config.data.name": of_version})
        for variant in _RANKERS
        for vectors in ("FastText", "GloVe", "learned")
        # A simulated world's features are no network's, so learned vectors have one row for whatever features.
        for images in (_IMAGES if variant.endswith("aqi") and vectors != "learned" else ("",))
    ]
    return Table(
        title=f"Ranking by CCA and nearest neighbours{version and f', VisDial {version}'}",
        published="visdial_table5",
        experiment="cca",
        rows=tuple(rows),
        columns=tuple(
            Column(title, {}, metric, metric, places, optional=metric == "ndcg") for metric, title, places in metrics
        ),
        source="VisDial",
    )


def _ranker(version: str, variant: str, vectors: str, images: str, where: Where) -> Row:
    """A row, compared with "no CCA" on the same vectors; the paper has none of learned ones: FastText's are kindred."""
    where = where | {"variant": variant, "config.vectors.source": lambda source: _vectors_of(source) == vectors}
    where |= {"config.data.image_features": images} if images else {}
    end = _PUBLISHED.get((vectors, images))
    return Row(
        f"{_RANKERS[variant]} ({' '.join(filter(None, (images, vectors)))})",
        where,
        None if end is None else f"{version}/{variant}{end}",
        optional=True,
        baseline=f"{_RANKERS['none']} ({vectors})",
        kindred=f"{version}/{variant}" if vectors == "learned" else None,
    )


def _vectors_of(source: Any) -> str:
    """Whose word vectors these are, by the name of their source: what is no name of GloVe's is a file of FastText's."""
    if source == "learned":
        return "learned"
    return "GloVe" if "glove" in str(source).rpartition("/")[2].lower() else "FastText"


TABLES["visdial_table5"] = _visdial_table5("", lambda name: name != "visdial/v0.9", _RANKING)
TABLES["visdial_table5_v09"] = _visdial_table5("v0.9", lambda name: name == "visdial/v0.9", _RANKING[:-1])


_TRAINED = {"dense": "annotated rounds of train", "train": "train", "trainval": "train and validation"}
_ANSWERS = {"h": "H", "s": "Sigma", "m": "M", "g": "G", "gt": "ground truth"}


def _visdial_trained_on(table: str, title: str, names: Sequence[str]) -> Table:
    """CCA-AQ by what it is trained on, each row compared with ground truths of the same rounds (Tables 3, 8 and 9)."""
    rows = []
    for name in names:
        rounds, answers = name.split("_")
        variant = "aq" if name == "train_gt" else f"aq_{name}"
        label, base = (f"{_TRAINED[rounds]}: {_ANSWERS[one]}" for one in (answers, "gt"))
        rows.append(Row(label, {"variant": variant}, name, optional=True, baseline=base))
    columns = [Column("pairs", {}, "pairs", "pairs", 0, compared=False)]
    columns += [Column(label, {}, metric, metric, places, metric == "ndcg") for metric, label, places in _RANKING]
    return Table(
        f"CCA-AQ trained on reference sets{title}", table, "cca", tuple(rows), tuple(columns), source="VisDial"
    )


_OF_TRAIN = [f"{rounds}_{answers}" for rounds, several in (("dense", "h s m g gt"), ("train", "gt s m g"))
             for answers in several.split()]  # fmt: skip
TABLES["visdial_table3"] = _visdial_trained_on(
    "visdial_table3", "", ("dense_h", "dense_s", "dense_gt", "train_s", "train_gt")
)
TABLES["visdial_table8"] = _visdial_trained_on(
    "visdial_table8", "", (*_OF_TRAIN, *(f"trainval_{answers}" for answers in ("gt", "s", "m", "g")))
)
TABLES["visdial_table9"] = _visdial_trained_on("visdial_table9", ", validation in the paper", _OF_TRAIN)

_AGREEMENT = (("iou", "IoU, %", 2), ("precision", "precision, %", 2), ("recall", "recall, %", 2), ("size", "size", 2),
              ("ground_truth_inside", "A_gt inside, %", 2), ("correlation", "correlation", 4),
              ("correlation_spread", "its spread", 4))  # fmt: skip
_DESCRIBING = ("ground_truth_inside", "correlation", "correlation_spread")
"""Measures of a construction that more or less of is neither better nor worse."""
_SETS = {"H": "H", "M": "M", "S": "Sigma", "G3": "G (n = 3)", "G4": "G (n = 4)", "G5": "G (n = 5)"}
_MODELS = {"aq": "CCA-AQ", "aq_star": "CCA-AQ*"}
_WITH = {"q_gt": "(Q, A)_gt", "q_max": "(Q, A)_max", "gt_all": "(A_gt, A)", "gt_others": "(A_gt, others)"}
_MAIN_SET = "S/aq_star/gt_others"  # its figures stand bare in results


def _set_row(name: str, baseline: str) -> Row:
    """A row of Table 10 by its name in published.json; `baseline` is such a name too."""
    prefix = "" if name == _MAIN_SET else f"{name.replace('/', '.')}/"
    base = name if name == "H" else baseline  # what the others are held against is compared with none
    return Row(_set_label(name), {}, name, baseline=_set_label(base), prefix=prefix)


def _set_label(name: str) -> str:
    if name == "H":
        return "H"
    method, model, correlations = name.split("/")
    return f"{_SETS[method]}, {_MODELS[model]}, {_WITH[correlations]}"


def _visdial_sets(table: str, names: Sequence[str], measures: int) -> Table:
    """Reference sets against H (Tables 1 and 10), compared with Sigma of CCA-AQ*; means, then their deviations."""
    shown = _AGREEMENT[:measures]
    columns = [Column(label, {}, name, name, places, compared=name not in _DESCRIBING) for name, label, places in shown]
    columns += [
        Column(f"std of {label}", {}, f"{name}_std", f"{name}_std", places, True, False)
        for name, label, places in shown
    ]
    return Table(
        title="Reference sets against people's (std: over questions)",
        published=table,
        experiment="reference_sets",
        rows=tuple(_set_row(name, _MAIN_SET) for name in names),
        columns=tuple(columns),
        baseline=_set_label(_MAIN_SET),
        source="VisDial",
    )


_TABLE_10 = [
    "H",
    *(f"{method}/{model}/{correlations}" for method in "MS" for model in _MODELS for correlations in _WITH),
    *(f"{method}/aq/{correlations}" for method, correlations in (
        ("G3", "q_gt"), ("G4", "q_gt"), ("G5", "q_gt"), ("G4", "q_max"), ("G5", "q_max"), ("G5", "gt_all"),
        ("G5", "gt_others"))),
    *(f"{method}/aq_star/{correlations}" for method, correlations in (
        ("G5", "q_gt"), ("G5", "q_max"), ("G5", "gt_all"), ("G4", "gt_others"), ("G5", "gt_others"))),
]  # fmt: skip
TABLES["visdial_table10"] = _visdial_sets("visdial_table10", _TABLE_10, 7)
# The paper's two rows, and those its claims compare Sigma with.
TABLES["visdial_table1"] = _visdial_sets("visdial_table1", ["H", _MAIN_SET, "S/aq/gt_others", "M/aq_star/gt_others"], 4)
TABLES |= {"visdial_table4": table4(), "visdial_table6": table6(), "visdial_table7": table7()}
