import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import lstsq
from scipy.special import expit

from skscn.activations import ACTIVATIONS
from skscn.nodes import Dense, Nodes
from skscn.rows import LocalBackend, MemoryStorage, Rows
from skscn.scaling import scale_inputs

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(300, 4)), RNG.normal(size=(300, 2))
W, B = RNG.uniform(-3, 3, size=(4, 40)), RNG.uniform(-3, 3, size=40)
P = RNG.integers(1, 4, size=300).astype(float)
SCALING = scale_inputs("minmax", X)
NODES = Nodes(Dense(ACTIVATIONS["sigmoid"]), W, B)
H = expit(SCALING.transform(X) @ W + B)


def make(X=X, T=T, sample_weight=None, n_jobs=None, **storage):
    """Rows in memory, with several stretches and panels although they are few."""
    residual = T.copy() if sample_weight is None else T * np.sqrt(sample_weight)[:, None]
    kept = MemoryStorage(X, scale_inputs("minmax", X), residual, sample_weight, panel=3, **storage)
    backend = LocalBackend(kept, (*X.shape, T.shape[1]), n_jobs=n_jobs, stretch=64)
    return Rows(backend, NODES.layer)


def residual_of(rows):
    return rows.backend.storage.residual


def basis_of(rows):
    return np.concatenate(rows.backend.storage.basis(slice(0, 300), rows.basis_size))


@pytest.mark.parametrize("weights", [None, P])
@pytest.mark.parametrize("rows", [X, X.astype(np.float32), sparse.csr_array(X)], ids=["float64", "float32", "sparse"])
def test_sums_are_sums_over_all_rows(rows, weights):
    p = np.ones(300) if weights is None else weights
    sums = make(rows, sample_weight=weights).sums(NODES, complete=True)
    rtol = 1e-4 if rows.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(sums.projections, (T * p[:, None]).T @ H, rtol=rtol, atol=1e-4 if rtol > 1e-5 else 1e-12)
    np.testing.assert_allclose(sums.squares, p @ H**2, rtol=rtol)
    np.testing.assert_allclose(sums.quartics, p @ H**4, rtol=rtol)
    np.testing.assert_allclose(sums.gram, (H.T * p) @ H, rtol=rtol)


def append(rows, places):
    """Bring nodes of W and B in together, as orthonormal directions."""
    columns = rows.open(rows.nodes(W[:, places], B[places]))
    transform = np.linalg.inv(np.linalg.cholesky(columns.gram).T)
    rows.join(transform, transform.T @ columns.inner, keep=True)
    return columns


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("weights", [None, P])
def test_joining_keeps_the_basis_orthonormal_and_the_residual_that_of_least_squares(weights, size):
    rows = make(sample_weight=weights)
    for start in range(0, 12, size):
        append(rows, range(start, start + size))
    basis = basis_of(rows)
    np.testing.assert_allclose(basis @ basis.T, np.eye(12), atol=1e-12)
    roots = np.sqrt(np.ones(300) if weights is None else weights)[:, None]
    solution = lstsq(roots * H[:, :12], roots * T)[0]
    np.testing.assert_allclose(residual_of(rows), roots * (T - H[:, :12] @ solution), atol=1e-11)
    np.testing.assert_allclose(rows.residual_squares, (residual_of(rows) ** 2).sum(axis=0), rtol=1e-13)


@pytest.mark.parametrize("weights", [None, P])
def test_opening_gives_the_sums_of_the_columns_and_changes_nothing(weights):
    rows = make(sample_weight=weights)
    append(rows, [0, 1])
    before = residual_of(rows).copy()
    columns = rows.open(rows.nodes(W[:, 2:5], B[2:5]))
    p = np.ones(300) if weights is None else weights
    basis = basis_of(rows)
    h = H[:, 2:5] * np.sqrt(p)[:, None]
    v = h - basis.T @ (basis @ h)
    np.testing.assert_allclose(columns.sums.projections, before.T @ h, atol=1e-10)
    np.testing.assert_allclose(columns.sums.squares, p @ H[:, 2:5] ** 2)
    np.testing.assert_allclose(columns.sums.quartics, p @ H[:, 2:5] ** 4)
    np.testing.assert_allclose(columns.projection, basis @ h, atol=1e-12)
    np.testing.assert_allclose(columns.gram, v.T @ v, atol=1e-12)
    np.testing.assert_allclose(columns.inner, v.T @ before, atol=1e-12)
    assert rows.basis_size == 2
    np.testing.assert_array_equal(residual_of(rows), before)


def test_rotating_the_basis_keeps_what_it_spans():
    rows = make()
    for j in range(7):
        append(rows, [j])
    before = basis_of(rows)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(7, 5)))[0]
    rows.rotate(rotation)
    np.testing.assert_allclose(basis_of(rows), rotation.T @ before, atol=1e-14)


def test_threads_change_no_bit():
    results = []
    for n_jobs in (1, 2, 3):
        with make(n_jobs=n_jobs) as rows:
            sums = rows.sums(NODES)
            appended = [append(rows, [j]) for j in range(6)]
        results.append([sums.projections, sums.squares, residual_of(rows), *(a.projection for a in appended)])
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_leave_one_out_is_what_leaving_each_row_out_gives():
    rows = make()
    for j in range(6):
        append(rows, [j])
    chosen = np.array([0, 17, 299])
    truth = []
    for i in chosen:
        others = np.arange(300) != i
        truth.append(T[i] - H[i, :6] @ lstsq(H[others, :6], T[others])[0])
    np.testing.assert_allclose(rows.leave_one_out(chosen), truth, atol=1e-9)


def test_leave_one_out_of_counted_rows_leaves_one_of_them_out():
    counted, repeated = (
        make(sample_weight=P),
        make(np.repeat(X, P.astype(int), axis=0), np.repeat(T, P.astype(int), axis=0)),
    )
    for j in range(6):
        append(counted, [j])
        append(repeated, [j])
    first = np.r_[0, np.cumsum(P)[:-1]].astype(int)
    np.testing.assert_allclose(counted.leave_one_out(np.arange(300)), repeated.leave_one_out(first), atol=1e-10)


@pytest.mark.parametrize("weights", [None, P])
def test_single_precision_is_close(weights):
    rows = make(sample_weight=weights)
    exact, fast = (rows.sums(NODES, complete=True, precision=precision) for precision in (np.float64, np.float32))
    np.testing.assert_allclose(fast.squares, exact.squares, rtol=1e-5)
    np.testing.assert_allclose(fast.quartics, exact.quartics, rtol=1e-5)
    np.testing.assert_allclose(fast.projections, exact.projections, atol=1e-4)


def test_inputs_that_are_not_kept_scaled_give_the_same_bits():
    kept, passed = make(), make(small=0)
    for rows in (kept, passed):
        append(rows, [0])
    np.testing.assert_array_equal(kept.sums(NODES).projections, passed.sums(NODES).projections)
