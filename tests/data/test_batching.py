"""Length buckets and batches: every example once an epoch, in a shape that holds it, in an order the step decides."""

import itertools

import numpy as np
import pytest

from vatex_jax.data.batching import (
    Buckets,
    TrainingBatches,
    assemble,
    assign_shapes,
    choose_shapes,
    decoding_batches,
)
from vatex_jax.data.examples import TranslationExamples
from vatex_jax.data.padding import thinned
from vatex_jax.data.sources import Features
from vatex_jax.errors import DataError

COST = TranslationExamples.cost


class OfLengths:
    """Examples of which nothing but the lengths is known."""

    cost, words = COST, TranslationExamples.words

    def __init__(self, lengths: np.ndarray):
        self._lengths = lengths

    def __len__(self) -> int:
        return len(self._lengths)

    def lengths(self) -> np.ndarray:
        return self._lengths

    def arrays(self, rows, shape, batch_size, *, targets):
        return {}


def real_lengths(count: int, seed: int = 0) -> np.ndarray:
    """Source words, target words with EOS, segments: lengths like those of captions."""
    rng = np.random.default_rng(seed)
    source = np.clip(rng.gamma(9, 15 / 9, count), 1, 40).astype(int)
    target = np.clip(source * 14 / 15 + rng.normal(0, 3, count), 1, 40).astype(int) + 1
    return np.column_stack([source, target, np.full(count, 32)]).astype(np.int32)


def examples(count: int = 50, video: bool = True, seed: int = 0) -> TranslationExamples:
    rng = np.random.default_rng(seed)
    videos = [rng.normal(size=(n, 4)).astype(np.float32) for n in rng.integers(0, 9, 10)]
    features = Features(lambda i: videos[i], np.array([len(v) for v in videos], np.int32)) if video else None
    place = rng.integers(0, 10, count).astype(np.int32)
    segments = np.minimum(features.segments, 6)[place] if video else np.zeros(count, np.int32)
    source = tuple(rng.integers(5, 90, n).astype(np.int32) for n in rng.integers(1, 12, count))
    target = tuple(np.append(rng.integers(5, 90, n), 3).astype(np.int32) for n in rng.integers(0, 12, count))
    return TranslationExamples(source, target, place, features, segments, 6)


def test_shapes_are_few_hold_everything_and_waste_little():
    lengths = real_lengths(5000)
    shapes = choose_shapes(lengths, COST)
    assert len(shapes) <= 6
    assert (shapes[-1] == lengths.max(axis=0)).all()
    assigned = assign_shapes(lengths, shapes, COST)
    assert (lengths <= shapes[assigned]).all()
    held = shapes[assigned]
    assert 1 - lengths[:, 1].sum() / held[:, 1].sum() < 0.15, "target words cost most and are padded least"
    # Six rectangles hold source and target lengths of correlation 0.85 with 16.6% padding at best, and with more where
    # target words are weighed by what they cost.
    assert Buckets.of(OfLengths(lengths), 32, seed=0).padding(OfLengths(lengths)) < 0.21


def test_shapes_are_as_good_as_the_best_of_all_on_a_small_case():
    lengths = np.array([[2, 2, 1], [3, 2, 1], [9, 8, 1], [10, 9, 1], [10, 2, 1]], np.int32).repeat(4, axis=0)

    def cost_of(shapes):
        fits = (lengths[:, None] <= np.array(shapes)[None]).all(-1)
        return np.where(fits, np.array(shapes) @ COST, np.inf).min(axis=1).sum()

    corners = list(itertools.product((2, 3, 9, 10), (2, 8, 9), (1,)))
    best = min(cost_of([a, b, (10, 9, 1)]) for a, b in itertools.combinations(corners, 2))
    assert cost_of(choose_shapes(lengths, COST, 3)) == best


def test_an_example_goes_to_the_cheapest_shape_that_holds_it():
    shapes = np.array([[5, 5, 2], [9, 5, 2], [9, 9, 9]], np.int32)
    lengths = np.array([[5, 5, 2], [6, 1, 1], [1, 6, 1], [1, 1, 3]], np.int32)
    assert assign_shapes(lengths, shapes, COST).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("count", [1, 7, 64, 333])
def test_every_example_stands_in_one_batch_of_each_epoch(count):
    lengths = real_lengths(count)
    buckets = Buckets.of(OfLengths(lengths), 8, seed=3)
    orders = []
    for epoch in range(3):
        batches = buckets.epoch(epoch)
        assert len(batches) == buckets.steps_per_epoch
        rows = np.concatenate([rows for _, rows in batches])
        assert sorted(rows.tolist()) == list(range(count))
        for shape, rows in batches:
            assert 1 <= len(rows) <= 8
            assert (lengths[rows] <= buckets.shapes[shape]).all()
        orders.append(rows.tolist())
    assert count < 9 or len({tuple(order) for order in orders}) == 3
    assert [r.tolist() for _, r in buckets.epoch(1)] == [
        r.tolist() for _, r in Buckets.of(OfLengths(lengths), 8, 3).epoch(1)
    ]


def test_padding_counts_padded_rows_and_words():
    lengths = np.array([[2, 3, 0], [4, 3, 0], [4, 3, 0]], np.int32)
    buckets = Buckets(np.array([[4, 3, 0]], np.int32), (np.arange(3),), 2, 0)
    assert buckets.padding(OfLengths(lengths)) == pytest.approx(1 - (5 + 7 + 7) / (2 * 2 * 7))


def test_a_batch_is_a_function_of_its_number_alone():
    made = examples()
    forward = TrainingBatches(made, batch_size=8, seed=1)
    steps = 2 * forward.steps_per_epoch + 3
    in_order = [forward.batch(step) for step in range(steps)]
    anew = TrainingBatches(made, batch_size=8, seed=1)
    for step in (steps - 1, 0, forward.steps_per_epoch, 5, 6):
        again = anew.batch(step)
        assert again.keys() == in_order[step].keys()
        for name in again:
            np.testing.assert_array_equal(again[name], in_order[step][name])


def test_assembled_rows_hold_their_own_words_and_video_and_nothing_else():
    made = examples()
    batch = assemble(made, [4, 9], (12, 14, 6), 3)
    assert batch["index"].tolist() == [4, 9, -1]
    for place, row in enumerate((4, 9)):
        source, target = made.source[row], made.target[row]
        assert batch["source"][place, : len(source)].tolist() == source.tolist()
        assert not batch["source"][place, len(source) :].any()
        assert batch["target"][place, : len(target)].tolist() == target.tolist()
        assert not batch["target"][place, len(target) :].any()
        features = thinned(made.features[int(made.video[row])], 6)
        assert batch["video_mask"][place].sum() == len(features) == made.segments[row]
        np.testing.assert_array_equal(batch["video"][place, : len(features)], features)
        assert not batch["video"][place, len(features) :].any()
    for name in ("source", "target", "video", "video_mask"):
        assert not batch[name][2].any()


def test_without_video_there_are_no_video_arrays():
    assert assemble(examples(video=False), [0], (12, 14, 0), 1).keys() == {"source", "target", "index"}


def test_long_videos_are_thinned_evenly_and_always_alike():
    features = np.arange(9, dtype=np.float32)[:, None]
    assert thinned(features, 5)[:, 0].tolist() == [0, 2, 4, 6, 8]
    assert thinned(features, 9) is features


def test_decoding_covers_every_example_once_and_never_shows_the_target():
    made, seen = examples(23), []
    for rows, batch in decoding_batches(made, 5):
        assert "target" not in batch
        assert len(batch["source"]) == 5
        assert batch["source"].shape[1] % 8 == 0
        for place, row in enumerate(rows):
            assert batch["source"][place][batch["source"][place] > 0].tolist() == made.source[row].tolist()
        seen += rows.tolist()
    assert sorted(seen) == list(range(23))


def test_nothing_to_train_on_is_an_error():
    with pytest.raises(DataError, match="nothing to train on"):
        TrainingBatches(examples(0), batch_size=4, seed=0)
