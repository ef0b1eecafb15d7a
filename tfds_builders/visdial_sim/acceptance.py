"""What a simulated world must satisfy before any model is trained on it, measured on its dialogues.

    python -m tfds_builders.visdial_sim.acceptance --world_seed=0 --size=default

prints the report and exits with 1 if a requirement fails. Two rankers bound what models can do. The question-only
ranker scores a candidate by how often it answers such a question in training; where the question has a pronoun, it does
not know what that stands for. The oracle knows the content of the dialogue's answer: paraphrases of it come first, by
how often they are said. Ranks and NDCG are expectations over a random order of ties.

Legend: `Q` rounds, `O` = 100 options, `K` keys (questions alike), `A` answers.
"""

import argparse
import sys

import numpy as np
from jaxtyping import Float, Int

from tfds_builders.visdial_sim.candidates import OPTIONS
from tfds_builders.visdial_sim.topics import TYPES
from tfds_builders.visdial_sim.world import SPLITS, Dialogues, World, present

# Figure -> lowest and highest value that will do, for worlds of the default size.
REQUIREMENTS = {
    "options/distinct": (OPTIONS, OPTIONS),
    "options/with_ground_truth_once_share": (1.0, 1.0),
    "options/gt_index_deviate": (-4.5, 4.5),
    "paraphrases/mean": (4.0, 20.0),
    "paraphrases/two_or_more_share": (0.90, 1.0),
    "train/no_full_relevance_share": (0.41, 0.53),
    "train/rejected_share": (0.06, 0.12),
    "train/reference_set_size": (8.0, 14.0),
    "all/no_full_relevance_share": (0.41, 0.53),
    "all/rejected_share": (0.06, 0.12),
    **{
        f"{split}/{name}": limits
        for split in ("validation", "test")
        for name, limits in {
            "no_full_relevance_deviate": (-3.5, 3.5),
            "rejected_deviate": (-3.5, 3.5),
            "reference_set_size": (8.0, 14.0),
            "question_only/mr": (1.0, 25.0),
            "oracle_minus_question_only/mr": (-50.0, -2.0),
            "oracle_minus_question_only/r@1": (12.0, 100.0),
            "oracle_minus_question_only/ndcg": (0.12, 1.0),
        }.items()
    },
    "annotated/all_zero": (0, 0),
    "pronouns/share": (0.20, 0.35),
    "pronouns/ambiguous_share": (0.05, 1.0),
    "image/decoded_share": (0.95, 1.0),
    "answers/mean_words": (1.5, 3.5),
    "answers/longest": (3, 8),
    "answers/one_word_share": (0.35, 0.75),
    "answers/yes_no_share": (0.15, 0.45),
    "answers/of_several_types_share": (0.15, 0.80),
}


def report(world: World) -> dict[str, float]:
    """Every figure of a world: counts, shares (0-1), ranks, percent (`r@1`), NDCG (0-1), deviates (standard errors)."""
    figures = _lists(world) | _answers(world) | _pronouns(world)
    shares = {split: _annotated(world, split) for split in SPLITS}
    figures |= {f"{split}/{name}": value for split in SPLITS for name, value in shares[split].items()}
    for name in ("no_full_relevance", "rejected"):
        counts = [(shares[split]["annotated"], shares[split][f"{name}_share"]) for split in SPLITS]
        figures[f"all/{name}_share"] = sum(n * share for n, share in counts) / sum(n for n, _ in counts)
        for split in SPLITS[1:]:
            figures[f"{split}/{name}_deviate"] = _deviate(shares["train"], shares[split], f"{name}_share")
    figures["annotated/all_zero"] = sum((~world.annotations(split).relevance.any(1)).sum() for split in SPLITS)
    frequencies = Frequencies(world)
    for split in SPLITS[1:]:
        figures |= _ranked(world, split, frequencies)
    decoded = [world.decode(world.features(split)) == world.dialogues(split).values for split in SPLITS]
    present = [world.dialogues(split).values >= 0 for split in SPLITS]
    figures["image/decoded_share"] = np.concatenate(decoded)[np.concatenate(present)].mean()
    return {name: round(float(value), 4) for name, value in figures.items()}


def check(figures: dict[str, float]) -> list[str]:
    """One line for each requirement that the figures of a world of the default size do not meet."""
    return [
        f"{name} is {figures[name]}, must be from {low:.4g} to {high:.4g}"
        for name, (low, high) in REQUIREMENTS.items()
        if not low <= figures[name] <= high
    ]


def _lists(world: World) -> dict[str, float]:
    """Candidate lists of all splits: whether they are lists of distinct answers, and how many paraphrases they hold."""
    distinct, once, places, paraphrases = [], [], [], []
    for split in SPLITS:
        found = world.dialogues(split)
        options, gt_index = (each.reshape(-1, *each.shape[2:]) for each in world.options(split))
        answers = found.answers.ravel()
        distinct.append(OPTIONS - (np.diff(np.sort(options, axis=1), axis=1) == 0).sum(1))
        right = options[np.arange(len(options)), gt_index] == answers
        once.append(right & ((options == answers[:, None]).sum(1) == 1))
        places.append(np.bincount(gt_index, minlength=OPTIONS))
        paraphrases.append(world.members[found.contents.ravel()[:, None], options].sum(1) - 1)
    counts = np.sum(places, axis=0)
    chi_square = np.sum((counts - counts.mean()) ** 2) / counts.mean()
    paraphrases = np.concatenate(paraphrases)
    return {
        "options/distinct": float(np.concatenate(distinct).min()),
        "options/with_ground_truth_once_share": np.concatenate(once).mean(),
        # A chi-square of n degrees of freedom is nearly normal, with mean n and variance 2 n.
        "options/gt_index_deviate": (chi_square - (OPTIONS - 1)) / np.sqrt(2 * (OPTIONS - 1)),
        "paraphrases/mean": paraphrases.mean(),
        "paraphrases/two_or_more_share": (paraphrases >= 2).mean(),
    }


def _answers(world: World) -> dict[str, float]:
    """What is said, in the training split and in the answer table."""
    train = world.dialogues("train")
    words = np.array([len(answer.split()) for answer in world.answers])
    said = words[train.answers]
    yes_no = np.isin(train.answers, [world.answers.index(answer) for answer in ("yes", "no")])
    types = np.array([world.tables.topics[topic].type for topic in world.tables.class_topic])
    several = sum((world.members[types == name].any(0)).astype(int) for name in np.unique(types)) > 1
    return {
        "answers/table": float(len(world.answers)),
        "answers/mean_words": said.mean(),
        "answers/longest": float(words.max()),
        "answers/one_word_share": (said == 1).mean(),
        "answers/yes_no_share": yes_no.mean(),
        "answers/of_several_types_share": several[train.answers].mean(),
    }


def _pronouns(world: World) -> dict[str, float]:
    """The share of rounds that ask by a pronoun, and of these where the image has another thing it might stand for."""
    train = world.dialogues("train")
    slots = np.array([topic.slot for topic in world.tables.topics])[train.topics]
    ambiguous = np.zeros(slots.shape, bool)
    for slot, asked in enumerate(TYPES):
        # A type of the same name is asked in the same words of things of another role.
        others = [other.role for other in TYPES if other.name == asked.name and other.role != asked.role]
        fits = np.any([present(train.values, role) for role in others], axis=0) if others else False
        ambiguous |= (slots == slot) & np.reshape(fits, (-1, 1))
    return {"pronouns/share": train.pronouns.mean(), "pronouns/ambiguous_share": ambiguous[train.pronouns].mean()}


def _annotated(world: World, split: str) -> dict[str, float]:
    """The dense annotations of a split; sizes are those of the human reference sets."""
    annotations = world.annotations(split)
    gt_index = world.options(split)[1][annotations.dialogues, annotations.rounds]
    relevance = annotations.relevance
    rejected = relevance[np.arange(len(relevance)), gt_index] == 0
    sizes = (relevance > 0).sum(1) + rejected
    return {
        "annotated": float(len(relevance)),
        "no_full_relevance_share": (relevance.max(1) < 1).mean(),
        "rejected_share": rejected.mean(),
        "reference_set_size": sizes.mean(),
        "reference_set_size_std": sizes.std(ddof=1),
    }


def _deviate(train: dict[str, float], other: dict[str, float], name: str) -> float:
    """How many standard errors a share of another split lies from that of train."""
    share = (train[name] * train["annotated"] + other[name] * other["annotated"]) / (
        train["annotated"] + other["annotated"]
    )
    variance = share * (1 - share) * (1 / train["annotated"] + 1 / other["annotated"])
    return (other[name] - train[name]) / np.sqrt(max(variance, 1e-12))


class Frequencies:
    """How often each answer is said in training: to questions alike, to any of their type, of a class, at all."""

    def __init__(self, world: World):
        train = world.dialogues("train")
        self._topics = world.tables.topics
        self._size = len(world.answers)
        self._keys: dict[tuple[str, ...], int] = {}
        keys, types = self.keys(train)
        answers = train.answers.ravel()
        self.alike = self._counts(keys, answers, 2 * len(self._topics))
        self.of_type = self._counts(types, answers, len(self._topics))
        self.of_class = self._counts(train.contents.ravel(), answers, len(world.tables.class_names))
        self.total = np.bincount(answers, minlength=self._size)

    def keys(self, dialogues: Dialogues) -> tuple[Int[np.ndarray, "Q"], Int[np.ndarray, "Q"]]:
        """What a reader of the question alone can tell: which questions it is one of; and its type."""
        named = np.array([self._key(topic.questions) for topic in self._topics])
        by_pronoun = np.array([self._key(topic.by_pronoun) for topic in self._topics])
        types = np.array([topic.slot for topic in self._topics])
        topics = dialogues.topics.ravel()
        return np.where(dialogues.pronouns.ravel(), by_pronoun[topics], named[topics]), types[topics]

    def _key(self, questions: tuple[str, ...]) -> int:
        return self._keys.setdefault(questions, len(self._keys))

    def _counts(self, rows: np.ndarray, answers: np.ndarray, count: int) -> Float[np.ndarray, "K A"]:
        return np.bincount(rows * self._size + answers, minlength=count * self._size).reshape(count, -1).astype(float)

    def question_only(self, dialogues: Dialogues, options: Int[np.ndarray, "Q O"]) -> Float[np.ndarray, "Q O"]:
        """Scores by frequency for questions alike; ties by frequency for the type, then at all."""
        keys, types = (each[:, None] for each in self.keys(dialogues))
        return self.alike[keys, options] + 1e-5 * self.of_type[types, options] + 1e-10 * self.total[options]


def _ranked(world: World, split: str, frequencies: Frequencies) -> dict[str, float]:
    """MR, R@1, NDCG of the question-only ranker and of the oracle on a split."""
    found = world.dialogues(split)
    options, gt_index = world.options(split)
    options, places = options.reshape(-1, OPTIONS), gt_index.ravel()
    question_only = frequencies.question_only(found, options)
    contents = found.contents.ravel()[:, None]
    # Of the answers outside the class no order is better known than the question's.
    oracle = 1e6 * world.members[contents, options] + 1e3 * frequencies.of_class[contents, options] + question_only
    annotations = world.annotations(split)
    items = annotations.dialogues * found.topics.shape[1] + annotations.rounds
    figures = {}
    for name, scores in (("question_only", question_only), ("oracle", oracle)):
        ranks, first = expected_ranks(scores, places)
        figures[f"{split}/{name}/mr"], figures[f"{split}/{name}/r@1"] = ranks.mean(), 100 * first.mean()
        figures[f"{split}/{name}/ndcg"] = expected_ndcg(scores[items], annotations.relevance).mean()
    for metric in ("mr", "r@1", "ndcg"):
        gain = figures[f"{split}/oracle/{metric}"] - figures[f"{split}/question_only/{metric}"]
        figures[f"{split}/oracle_minus_question_only/{metric}"] = gain
    return figures


def expected_ranks(
    scores: Float[np.ndarray, "Q O"], places: Int[np.ndarray, "Q"]
) -> tuple[Float[np.ndarray, "Q"], Float[np.ndarray, "Q"]]:
    """The rank of the option at `places`, and how probably it is the first; in expectation over the order of ties."""
    own = np.take_along_axis(scores, places[:, None], axis=1)
    better, equal = (scores > own).sum(1), (scores == own).sum(1)
    return 1 + better + (equal - 1) / 2, (better == 0) / equal


def expected_ndcg(scores: Float[np.ndarray, "M O"], relevance: Float[np.ndarray, "M O"]) -> Float[np.ndarray, "M"]:
    """NDCG over the first k positions, k the number of relevant options, in expectation over the order of ties."""
    relevant = (relevance > 0).sum(1)[:, None]
    discounts = np.cumsum([0.0, *1 / np.log2(np.arange(2, scores.shape[1] + 2))])
    better = (scores[:, None, :] > scores[:, :, None]).sum(2)
    equal = (scores[:, None, :] == scores[:, :, None]).sum(2)
    gained = discounts[np.minimum(better + equal, relevant)] - discounts[np.minimum(better, relevant)]
    ideal = np.sort(relevance, axis=1)[:, ::-1] * np.diff(discounts)
    return (relevance * gained / equal).sum(1) / ideal.sum(1)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure a simulated world against its requirements.")
    parser.add_argument("--world_seed", type=int, default=0)
    parser.add_argument("--size", choices=["default"], default="default")
    arguments = parser.parse_args(argv)
    figures = report(World(arguments.world_seed, arguments.size))
    for name, value in figures.items():
        low, high = REQUIREMENTS.get(name, (None, None))
        print(f"{name:50} {value:10.4g}" + ("" if low is None else f"   must be {low:.4g} to {high:.4g}"))
    failures = check(figures)
    print("\n".join(["FAILED", *failures]) if failures else "all requirements hold")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
