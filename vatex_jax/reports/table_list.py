"""The papers' tables that can be filled from results: which results stand in which row and column."""

from collections.abc import Callable, Sequence
from typing import Any

from vatex_jax.reports.cells import Column, Row, Table, Where

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
    sheet=True,
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
