"""CCA against SciPy's generalised eigensolver written out here, the published code's output, and values by hand."""

import os
import re

import numpy as np
import pytest
import scipy.linalg

from vatex_jax.cca.cca import CCA, fit, fit_pairs
from vatex_jax.errors import ConfigError, DataError


def views(seed=0, rows=200, sizes=(5, 7)):
    """Views that share some factors, with means far from 0."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(rows, 3))
    return [
        shared @ rng.normal(size=(3, size)) + rng.normal(size=(rows, size)) + rng.normal(size=size) * 5
        for size in sizes
    ]


def oracle(arrays, k, regularization=1e-12):
    """Eigenvalues and unit-norm stacked eigenvectors, from np.cov and scipy.linalg.eig (not eigh)."""
    joint = np.cov(np.concatenate(arrays, axis=1).T) + regularization * np.eye(sum(a.shape[1] for a in arrays))
    blocks = scipy.linalg.block_diag(*(np.cov(a.T) + regularization * np.eye(a.shape[1]) for a in arrays))
    values, vectors = scipy.linalg.eig(joint, blocks)
    order = np.argsort(-values.real)[:k]
    vectors = vectors[:, order].real
    return values.real[order], vectors / np.linalg.norm(vectors, axis=0)


def oracle_correlation(arrays, k, one, other, p):
    values, vectors = oracle(arrays, k)
    ends = np.cumsum([0] + [a.shape[1] for a in arrays])
    w = [vectors[ends[i] : ends[i + 1]] for i in range(len(arrays))]
    phi = [a @ w[i] * values**p for i, a in enumerate(arrays)]
    psi = [one_phi - one_phi.mean(axis=0) for one_phi in phi]
    a, b = psi[one], psi[other]
    return (a @ b.T) / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)


@pytest.mark.parametrize("sizes", [(5, 7), (4, 3, 6)])
@pytest.mark.parametrize("p", [0.0, 1.0, 2.5])
def test_eigenvalues_and_correlations_are_those_of_the_general_eigenproblem(sizes, p):
    arrays = views(sizes=sizes)
    k = min(sizes)
    model = fit(arrays, k)
    np.testing.assert_allclose(model.eigenvalues, oracle(arrays, k)[0], atol=1e-9)
    for one, other in ((0, 1), (1, 0), (0, 0), (0, len(sizes) - 1)):
        np.testing.assert_allclose(
            model.correlate(one, arrays[one], other, arrays[other], p),
            oracle_correlation(arrays, k, one, other, p),
            atol=1e-9,
        )


def test_directions_are_embeddings_in_single_precision_whatever_the_pieces(monkeypatch):
    arrays = views()
    model = fit(arrays, 4)
    for piece in (1, 7, 200, 1000):
        monkeypatch.setattr("vatex_jax.cca.cca._PIECE", piece)
        found = model.directions(1, arrays[1], 2.0)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, model.embed(1, arrays[1], 2.0), atol=1e-7)
    assert model.directions(0, arrays[0][:0]).shape == (0, 4)
    monkeypatch.setattr("vatex_jax.cca.cca._PIECE", 7)
    arrays[0][9] = 1e300  # in the second piece; scaled by about 1e12
    with pytest.raises(DataError, match="projection of item 9 is not finite"):
        model.directions(0, arrays[0], 50.0)


def test_p_changes_correlations_and_k_too():
    arrays = views()
    full = fit(arrays, 5)
    assert (
        np.abs(full.correlate(0, arrays[0], 1, arrays[1], 1.0) - full.correlate(0, arrays[0], 1, arrays[1], 2.0)).max()
        > 0.01
    )
    fewer = fit(arrays, 3)
    np.testing.assert_allclose(fewer.eigenvalues, full.eigenvalues[:3], atol=1e-12)
    assert np.abs(full.correlate(0, arrays[0], 1, arrays[1]) - fewer.correlate(0, arrays[0], 1, arrays[1])).max() > 0.01


def test_two_views_have_eigenvalues_of_one_plus_the_canonical_correlations():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50_000, 1))
    y = 0.6 * x + 0.8 * rng.normal(size=(50_000, 1))
    model = fit([x, y], 1)
    assert model.eigenvalues[0] == pytest.approx(1 + np.corrcoef(x[:, 0], y[:, 0])[0, 1], abs=1e-9)
    assert model.eigenvalues[0] == pytest.approx(1.6, abs=0.01)


def test_a_projection_is_phi_and_is_not_centred():
    arrays = views()
    model = fit(arrays, 4)
    by_hand = arrays[0][:3] @ model.weights[0] @ np.diag(model.eigenvalues**1.5)
    np.testing.assert_allclose(model.project(0, arrays[0][:3], p=1.5), by_hand, atol=1e-12)
    assert np.abs(model.project(0, arrays[0]).mean(axis=0)).max() > 0.1
    psi = model.project(0, arrays[0]) - model.project(0, arrays[0]).mean(axis=0)
    np.testing.assert_allclose(model.embed(0, arrays[0]), psi / np.linalg.norm(psi, axis=1, keepdims=True), atol=1e-9)


def test_correlations_are_centred_on_the_training_rows_not_on_those_compared():
    arrays = views()
    model = fit(arrays, 4)
    whole = model.correlate(0, arrays[0], 1, arrays[1])
    np.testing.assert_allclose(model.correlate(0, arrays[0][7:8], 1, arrays[1][:9]), whole[7:8, :9], atol=1e-12)
    np.testing.assert_allclose(model.means[0], arrays[0].mean(axis=0), atol=1e-12)
    on_the_mean = model.correlate(0, model.means[0][None], 1, arrays[1][:2])
    np.testing.assert_array_equal(on_the_mean, np.zeros((1, 2)))


def test_the_order_of_views_only_orders_the_result():
    arrays = views(sizes=(4, 3, 6))
    one, other = fit(arrays, 3), fit(arrays[::-1], 3)
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, atol=1e-12)
    np.testing.assert_allclose(
        one.correlate(0, arrays[0], 2, arrays[2]), other.correlate(2, arrays[0], 0, arrays[2]), atol=1e-9
    )


def test_both_normalizations_hold_what_they_say():
    arrays = views()
    unit, b = fit(arrays, 5), fit(arrays, 5, normalization="B")
    stacked = np.concatenate(unit.weights)
    np.testing.assert_allclose(np.linalg.norm(stacked, axis=0), 1.0, atol=1e-12)
    stacked = np.concatenate(b.weights)
    blocks = scipy.linalg.block_diag(*(np.cov(a.T) for a in arrays))
    np.testing.assert_allclose(stacked.T @ blocks @ stacked, np.eye(5), atol=1e-8)
    assert np.abs(unit.correlate(0, arrays[0], 1, arrays[1]) - b.correlate(0, arrays[0], 1, arrays[1])).max() > 0.01


def test_weights_are_repetitions():
    arrays = views(rows=60)
    weights = np.random.default_rng(1).integers(0, 4, 60)
    repeated = [np.repeat(a, weights, axis=0) for a in arrays]
    one, other = fit(arrays, 5, weights=weights), fit(repeated, 5)
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, atol=1e-10)
    for mean, expected in zip(one.means, other.means, strict=True):
        np.testing.assert_allclose(mean, expected, atol=1e-12)
    np.testing.assert_allclose(np.concatenate(one.weights), np.concatenate(other.weights), atol=1e-8)
    # The divisor is seen where the regularization is not negligible beside the covariances.
    one, other = (fit(a, 5, weights=w, regularization=0.5) for a, w in ((arrays, weights), (repeated, None)))
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, atol=1e-10)
    assert np.abs(one.eigenvalues - fit(arrays, 5, regularization=0.5).eigenvalues).max() > 1e-3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pairs_equal_their_expansion(dtype):
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=(n, d)).astype(dtype) + 3 for n, d in ((40, 6), (30, 4)))
    rows, columns = rng.integers(0, 40, 500), rng.integers(0, 30, 500)  # with repetitions, and some items in no pair
    rows[rows == 7] = 8
    counts = rng.integers(0, 5, 500)
    expanded = [np.repeat(items[index], counts, axis=0) for items, index in ((a, rows), (b, columns))]
    for regularization in (1e-12, 0.3):
        one = fit_pairs(a, b, rows, columns, counts, 4, regularization=regularization)
        other = fit(expanded, 4, regularization=regularization)
        np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, atol=1e-9)
        np.testing.assert_allclose(one.means[0], expanded[0].mean(axis=0, dtype=np.float64), atol=1e-7)
        np.testing.assert_allclose(one.correlate(0, a, 1, b), other.correlate(0, a, 1, b), atol=1e-8)


def test_more_items_than_a_piece_give_the_same(monkeypatch):
    arrays = views(rows=50)
    pairs = (np.arange(50), np.arange(50)[::-1].copy(), np.arange(50) % 3)
    whole, whole_pairs = fit(arrays, 4), fit_pairs(*arrays, *pairs, 4)
    monkeypatch.setattr("vatex_jax.cca.covariance._PIECE", 7)
    np.testing.assert_allclose(fit(arrays, 4).eigenvalues, whole.eigenvalues, atol=1e-12)
    np.testing.assert_allclose(fit_pairs(*arrays, *pairs, 4).eigenvalues, whole_pairs.eigenvalues, atol=1e-12)


def test_k_above_the_smaller_view_is_capped_with_a_warning():
    with pytest.warns(UserWarning, match="k is 9, but a view has 5 columns"):
        assert fit(views(), 9).k == 5


def test_the_same_data_give_the_same_signs():
    arrays = views()
    stacked = np.concatenate(fit(arrays, 5).weights)
    assert (stacked[np.abs(stacked).argmax(axis=0), np.arange(5)] > 0).all()


def broken(change):
    arrays = views(rows=20)
    change(arrays)
    return arrays


def set_at(view, row, column, value):
    return lambda arrays: arrays[view].__setitem__((row, column), value)


@pytest.mark.parametrize(
    ("arrays", "k", "message"),
    [
        (broken(set_at(1, 3, 2, np.nan)), 2, "view 1: row 3, column 2 is nan"),
        (broken(set_at(0, 0, 0, np.inf)), 2, "view 0: row 0, column 0 is inf"),
        (broken(set_at(1, slice(None), 4, 2.5)), 2, "view 1: column 4 is constant"),
        (broken(set_at(0, slice(None), slice(None), 1.0)), 2, "view 0: all its rows are the same"),
        ([a[:3] for a in views()], 3, "3 rows cannot give 3 components"),
        ([a[:5] for a in views()], 3, "view 0: its 5 rows span 4 of 5 columns"),
        ([views()[0], views()[0] @ np.ones((5, 2))], 2, "view 1: its 200 rows span 1 of 2 columns"),
        ([views()[0], views()[1][:-1]], 2, "200, 199 rows: they must be aligned"),
        ([views()[0]], 2, "two or more views, not 1"),
        ([a[:0] for a in views()], 2, "count 0 together"),
        ([a[:1] for a in views()], 1, "count 1 together"),
    ],
)
def test_degenerate_input_is_an_error_that_says_what_to_do(arrays, k, message):
    with pytest.raises(DataError, match=message):
        fit(arrays, k)


def test_a_regularization_above_the_rounding_makes_dependent_columns_usable():
    a = views(rows=30)[0]
    arrays = [a, a @ np.ones((5, 2))]
    model = fit(arrays, 2, regularization=1e-3)
    assert np.isfinite(model.correlate(0, arrays[0], 1, arrays[1])).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 2, "regularization": -1.0}, "regularization is -1.0"),
        ({"k": 2, "normalization": "l1"}, "'l1': there are unit, B"),
    ],
)
def test_settings_that_cannot_be_meant(arguments, message):
    with pytest.raises(ConfigError, match=message):
        fit(views(), **arguments)


def test_pairs_that_cannot_be_meant():
    a, b = views(rows=20)
    index = np.arange(20)
    with pytest.raises(DataError, match="columns go from 0 to 20, but there are 20 items"):
        fit_pairs(a, b, index, np.append(index[:-1], 20), np.ones(20), 2)
    with pytest.raises(DataError, match="counts must be finite and not negative"):
        fit_pairs(a, b, index, index, -np.ones(20), 2)


def test_wrong_items_and_powers_are_told():
    model = fit(views(), 3)
    with pytest.raises(DataError, match="rows of 5 numbers"):
        model.project(0, np.ones((2, 7)))
    with pytest.raises(ConfigError, match="view 2: this model has 2 views"):
        model.project(2, np.ones((2, 7)))
    with pytest.raises(ConfigError, match="p is -1"):
        model.project(0, np.ones((2, 5)), p=-1.0)


def test_a_saved_model_is_the_same_and_a_damaged_one_is_told(tmp_path):
    arrays = views(sizes=(4, 3, 6))
    model = fit(arrays, 3)
    path = tmp_path / "cca.npz"
    model.save(path)
    assert os.listdir(tmp_path) == ["cca.npz"]
    again = CCA.load(path)
    np.testing.assert_array_equal(
        again.correlate(0, arrays[0], 2, arrays[2]), model.correlate(0, arrays[0], 2, arrays[2])
    )
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"cca\.npz: cannot be read as a CCA model"):
        CCA.load(path)
    two = {"weights_0": np.ones((2, 3)), "mean_0": np.ones(2), "weights_1": np.ones((4, 3)), "mean_1": np.ones(4)}
    np.savez(path, eigenvalues=np.ones(3), **two)
    assert CCA.load(path).k == 3
    for change in (
        {"eigenvalues": np.ones(2)},
        {"eigenvalues": np.array([1.0, np.nan, 1.0])},
        {"mean_0": np.ones((2, 1))},
        {"mean_1": np.array(["a"] * 4)},
        {"weights_1": np.float64(1.0)},
    ):
        np.savez(path, **({"eigenvalues": np.ones(3)} | two | change))
        with pytest.raises(DataError, match="do not make a CCA model"):
            CCA.load(path)
    np.savez(path, eigenvalues=np.ones(3), weights_0=np.ones((2, 3)), mean_0=np.ones(2))
    with pytest.raises(DataError, match="do not make a CCA model"):
        CCA.load(path)
    for content in (b"", b"PK", b"\x93NUMPY"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot be read as a CCA model"):
            CCA.load(path)


def test_a_projection_that_overflows_is_told_and_not_taken_for_zero():
    arrays = views()
    model = fit(arrays, 3)
    with pytest.raises(DataError, match="item 0 is not finite with p = 5000"):
        model.embed(0, arrays[0], p=5000.0)
    items = arrays[0][:3].copy()
    items[1, 2] = np.nan
    with pytest.raises(DataError, match="item 1 is not finite"):
        model.correlate(0, items, 1, arrays[1])


@pytest.mark.real
@pytest.mark.parametrize(
    ("prefix", "order"), [("two", ("answers", "questions")), ("three", ("answers", "images", "questions"))]
)
def test_the_published_codes_eigenvalues_and_correlations(prefix, order, real_data):
    golden = np.load(real_data.parent / "golden" / "cca.npz", allow_pickle=False)
    arrays = [golden[name] for name in order]
    model = fit(arrays, int(golden[f"{prefix}_k"]))
    np.testing.assert_allclose(model.eigenvalues, golden[f"{prefix}_eigenvalues"], atol=1e-8)
    answers, last = arrays[0][:40], len(order) - 1
    np.testing.assert_allclose(
        model.correlate(0, answers, last, arrays[-1][:30]), golden[f"{prefix}_corr_answer_question"], atol=1e-8
    )
    np.testing.assert_allclose(
        model.correlate(0, answers, 0, answers), golden[f"{prefix}_corr_answer_answer"], atol=1e-8
    )


@pytest.mark.parametrize("scale", [1.0, 1.05, 1.1, 1.2, 1.3])
def test_the_regularization_that_is_told_suffices(scale):
    """Two significant digits must not be rounded down to one that is refused again."""
    rows = np.random.default_rng(0).normal(size=(40, 3)) * scale
    views = [np.column_stack([rows, rows[:, 0]]), rows]
    with pytest.raises(DataError, match="span 3 of 4 columns") as refused:
        fit(views, 2)
    told = float(re.search(r"regularization of (\S+) or more", str(refused.value))[1])
    assert fit(views, 2, regularization=told).k == 2
