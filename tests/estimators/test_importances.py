"""feature_importances_: mean squared gradients, in units of the spread of each input."""

import pickle
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline

from skscn import (
    Activation,
    Chunks,
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    load_model,
    save_model,
)
from skscn.fit import checkpoint
from skscn.losses import LOSSES
from skscn.network import MOST_ROWS, sampled
from skscn.nodes import LAYERS, Layer
from skscn.rows import ROWS
from skscn.scaling import SCALINGS, Scaling

RNG = np.random.default_rng(5)
X = RNG.uniform(size=(300, 4))
# The last input is irrelevant.
Y = np.sin(6 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 0.05 * RNG.normal(size=300)
OUTPUTS = np.column_stack([Y, 100 * X[:, 1] ** 2])
LABELS = np.array(["few", "many", "some"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [0.5, 0.9])]
WEIGHTS = RNG.uniform(0.2, 3.0, 300)
SMALL = {"max_nodes": 20, "max_candidates": 40, "random_state": 0}
REGRESSION = sorted(name for name, loss in LOSSES.items() if name not in ("log_loss", "poisson"))
FILES = Path(__file__).parents[1] / "files"


def expected(network, rows, weights=None, width=1e-6):
    """From differences of the network's own outputs, between scaled inputs and scaled outputs."""
    plain = {
        name: Scaling(None, np.zeros(count), np.ones(count), -np.inf, np.inf)
        for name, count in (("inputs", network.n_features), ("outputs", network.n_outputs))
    }
    bare, x = replace(network, **plain, bounds=None), network.inputs.transform(rows)
    steps = width * np.eye(rows.shape[1])
    gradients = np.array([(bare.link(x + step) - bare.link(x - step)) / (2 * width) for step in steps])
    variances = np.cov(x.T, aweights=weights, ddof=0).diagonal()
    squares = np.average((gradients**2).sum(axis=2), axis=1, weights=weights) * variances
    return squares / squares.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "y"),
    [
        *((SCNRegressor(**SMALL, scaling=scaling), Y) for scaling in SCALINGS),
        *((SCNRegressor(**SMALL, loss=loss), Y) for loss in REGRESSION),
        (SCNRegressor(**SMALL, loss="poisson"), np.exp(Y)),
        (SCNRegressor(**SMALL, algorithm="SC-I", configuration="ladder", activation="gaussian"), Y),
        (SCNRegressor(**SMALL), OUTPUTS),
        (IRVFLRegressor(max_nodes=20, random_state=0), Y),
        (ModifiedQuickpropRegressor(max_nodes=5, random_state=0), Y),
        (SCNClassifier(**SMALL), LABELS),
        (SCNClassifier(**SMALL), LABELS == "few"),
        (SCNClassifier(**SMALL), np.column_stack([Y > 1.0, X[:, 0] > 0.5]).astype(int)),
        (SCNClassifier(**SMALL, loss="squared"), LABELS),
    ],
    ids=lambda value: repr(value) if hasattr(value, "fit") else "",
)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weights"])
def test_they_are_those_of_finite_differences(model, y, weights):
    model = clone(model).fit(X, y, sample_weight=weights)
    found = model.feature_importances_
    np.testing.assert_allclose(found, expected(model.network_, X, weights), rtol=1e-5, atol=1e-9)
    assert found.shape == (4,)
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_loss_that_ends_early_has_those_of_its_last_network():
    """Fewer rounds than the loss may have; the output weights of the last one are evaluated once more."""
    model = SCNRegressor(loss="huber", **SMALL).fit(X, X[:, 0])
    assert model.history_["round"].max(initial=1) < LOSSES["huber"].rounds
    np.testing.assert_allclose(model.feature_importances_, expected(model.network_, X), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(
    "model", [SCNRegressor(random_state=0), SCNEnsembleRegressor(n_members=3, random_state=0)], ids=["one", "ensemble"]
)
def test_irrelevant_inputs_get_little(model):
    rows, y = make_friedman1(800, noise=0.5, random_state=0)
    found = model.fit(rows, y).feature_importances_
    assert found[5:].sum() < 0.05
    assert found[:5].min() > 2 * found[5:].max()


@pytest.mark.parametrize("scaling", [name for name in SCALINGS if name is not None])
def test_the_unit_of_an_input_does_not_matter(scaling):
    model = SCNRegressor(**SMALL, scaling=scaling)
    # Powers of two are exact, so that the network is the same.
    unit = np.array([1.0, 1024.0, 2.0**-20, 1.0])
    before, after = (clone(model).fit(rows, Y).feature_importances_ for rows in (X, X * unit))
    np.testing.assert_allclose(after, before, rtol=1e-8)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_linear_function_in_any_units(scaling):
    """Of an additive function the importances are (slope · spread)²; without scaling too."""
    rows = RNG.uniform(-1.0, 1.0, size=(400, 3)) * [1.0, 1000.0, 1.0]
    y = 3.0 * rows[:, 0] + 0.001 * rows[:, 1]
    settings = {"max_nodes": 1, "max_candidates": 5, "early_stopping": False}
    found = SCNRegressor(**settings, scaling=scaling, random_state=0).fit(rows, y).feature_importances_
    # The map to quantiles is not quite linear.
    np.testing.assert_allclose(found, [0.9, 0.1, 0.0], atol=0.03)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_constant_input_has_none(scaling):
    rows = np.column_stack([X, np.full(300, 7.1)])
    found = SCNRegressor(**SMALL, scaling=scaling).fit(rows, Y).feature_importances_
    assert found[4] == 0.0
    assert found[:4].sum() == pytest.approx(1.0)


def test_a_constant_network_has_equal_shares():
    model = SCNRegressor(**SMALL).fit(X, np.ones(300))
    np.testing.assert_array_equal(model.feature_importances_, 0.25)


def test_rows_of_weight_0_do_not_count():
    weights = np.where(np.arange(300) < 200, WEIGHTS, 0.0)
    found = SCNRegressor(**SMALL).fit(X, Y, weights).feature_importances_
    np.testing.assert_array_equal(
        found, SCNRegressor(**SMALL).fit(X[:200], Y[:200], weights[:200]).feature_importances_
    )


def test_class_weights_count():
    model = SCNClassifier(**SMALL, class_weight={"few": 5.0}).fit(X, LABELS)
    weights = np.where(LABELS == "few", 5.0, 1.0)
    np.testing.assert_allclose(model.feature_importances_, expected(model.network_, X, weights), rtol=1e-5, atol=1e-9)


def test_sparse_rows_are_like_dense_ones():
    rows = np.where(X > 0.5, X, 0.0)
    dense, found = (clone(SCNRegressor(**SMALL)).fit(some, Y) for some in (rows, sparse.csr_array(rows)))
    np.testing.assert_allclose(found.feature_importances_, dense.feature_importances_, rtol=1e-8)


MANY = RNG.normal(size=(MOST_ROWS + 3000, 3))
SUMS = np.sin(MANY[:, 0]) + 0.5 * MANY[:, 1] ** 2


def fitted_in(backend, model, weights, folder):
    with ExitStack() as stack:
        if backend == "chunks":
            return model.fit(Chunks(MANY, SUMS, sample_weight=weights, memory_limit=1000))
        if backend == "files":
            names = {"delimiter": ",", "comments": "", "header": "a,b,c,y", "fmt": "%.17g"}
            np.savetxt(folder / "rows.csv", np.column_stack([MANY, SUMS]), **names)
            return model.fit(folder / "rows.csv", "y")
        if backend == "dask":
            import dask
            import dask.array as da

            stack.enter_context(dask.config.set(scheduler="synchronous"))
            parts = (1500, 0, 3000, 500)
            cut = [da.from_array(a, chunks=(parts, *a.shape[1:])) for a in (MANY, SUMS, WEIGHTS_OF_MANY)]
            return model.fit(*cut[: 2 if weights is None else 3])
        return model.fit(MANY, SUMS, weights)


WEIGHTS_OF_MANY = RNG.integers(0, 4, len(MANY))


@pytest.mark.parametrize("weights", [None, WEIGHTS_OF_MANY], ids=["", "weights"])
@pytest.mark.parametrize("backend", sorted({*ROWS, "files"} - {"memory"}))
def test_they_do_not_depend_on_where_the_rows_are(backend, weights, tmp_path):
    model = SCNRegressor(max_nodes=6, max_candidates=30, random_state=0)
    if backend == "files":
        weights = None
    in_memory = clone(model).fit(MANY, SUMS, weights)
    found = fitted_in(backend, clone(model), weights, tmp_path)
    np.testing.assert_array_equal(found.feature_importances_, in_memory.feature_importances_)
    threads = clone(model).set_params(n_jobs=2).fit(MANY, SUMS, weights)
    np.testing.assert_array_equal(threads.feature_importances_, in_memory.feature_importances_)


def test_of_many_rows_a_sample_is_enough():
    model = SCNRegressor(max_nodes=20, random_state=0).fit(MANY, SUMS)
    np.testing.assert_allclose(model.feature_importances_, expected(model.network_, MANY), atol=0.05)
    numbers = sampled(10**9)
    assert (np.diff(numbers) > 0).all()
    assert len(numbers) == MOST_ROWS


def test_a_fit_that_continues_ends_with_the_same(tmp_path, monkeypatch):
    whole = SCNRegressor(**SMALL, early_stopping=False).fit(X, Y)
    continued = SCNRegressor(**SMALL, early_stopping=False, warm_start=True).set_params(max_nodes=8).fit(X, Y)
    first = continued.feature_importances_
    continued.set_params(max_nodes=20).fit(X, Y)
    np.testing.assert_array_equal(continued.feature_importances_, whole.feature_importances_)
    assert (first != whole.feature_importances_).any()
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
    saved = SCNRegressor(**SMALL, early_stopping=False, checkpoint=tmp_path / "checkpoint")
    for _ in range(2):
        np.testing.assert_array_equal(clone(saved).fit(X, Y).feature_importances_, whole.feature_importances_)


@pytest.mark.parametrize(
    ("ensemble", "y"),
    [
        (SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=4, max_features=0.5, bootstrap=True), Y),
        (SCNEnsembleRegressor(SCNRegressor(**SMALL, early_stopping=True), combination="nonnegative"), OUTPUTS),
        (SCNEnsembleClassifier(SCNClassifier(**SMALL), n_members=3, max_features=0.75), LABELS),
    ],
    ids=["columns", "weights", "classes"],
)
def test_an_ensemble_has_the_mean_of_its_members(ensemble, y, tmp_path):
    ensemble = clone(ensemble).set_params(random_state=0).fit(X, y)
    found = ensemble.feature_importances_
    mean = [
        sum(
            weight * member.feature_importances_[list(features).index(j)]
            for member, features, weight in zip(ensemble.members_, ensemble.features_, ensemble.weights_, strict=True)
            if j in features
        )
        for j in range(4)
    ]
    np.testing.assert_allclose(found, mean, rtol=1e-9)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    save_model(ensemble, tmp_path / "model.scn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.scn").feature_importances_, found)


@pytest.mark.parametrize(
    "model", [SCNRegressor(**SMALL), IRVFLRegressor(max_nodes=5, random_state=0)], ids=["SCN", "IRVFL"]
)
def test_a_saved_model_keeps_them(model, tmp_path):
    model = clone(model).fit(X, Y)
    save_model(model, tmp_path / "model.scn")
    for other in (load_model(tmp_path / "model.scn"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.feature_importances_, model.feature_importances_)


@pytest.mark.parametrize("name", ["SCNRegressor", "SCNClassifier", "SCNEnsembleRegressor", "SCNEnsembleClassifier"])
def test_a_model_of_version_01_says_that_it_has_none(name, tmp_path):
    model = load_model(FILES / "0.1.0" / f"{name}.scn")
    with pytest.raises(AttributeError, match="saved by an earlier version.*fit it again"):
        _ = model.feature_importances_
    save_model(model, tmp_path / "model.scn")
    assert not hasattr(load_model(tmp_path / "model.scn"), "feature_importances_")


@pytest.mark.parametrize("cls", [SCNRegressor, SCNClassifier, SCNEnsembleRegressor, SCNEnsembleClassifier])
def test_before_a_fit_there_are_none(cls):
    with pytest.raises(NotFittedError):
        _ = cls().feature_importances_
    assert not hasattr(cls(), "feature_importances_")


def test_without_a_derivative_the_fit_works_and_there_are_none(tmp_path):
    custom = SCNRegressor(**SMALL, activation=np.arctan)
    for model in (custom, SCNEnsembleRegressor(custom, n_members=2, random_state=0)):
        assert model.fit(X, Y).score(X, Y) > 0.5
        with pytest.raises(AttributeError, match="derivative of the activation 'arctan' is not known; pass an Activat"):
            _ = model.feature_importances_
        save_model(model, tmp_path / "model.scn")
        loaded = load_model(tmp_path / "model.scn", activations={"arctan": np.arctan})
        assert not hasattr(loaded, "feature_importances_")
    # A later fit has them, and the next one has not.
    assert custom.set_params(activation="tanh").fit(X, Y).feature_importances_.sum() == pytest.approx(1.0)
    assert not hasattr(custom.set_params(activation=np.arctan).fit(X, Y), "feature_importances_")


def test_a_derivative_of_ones_own_is_enough():
    arctan = Activation("arctan", lambda z: np.arctan(z, out=z), lambda z: 1.0 / (1.0 + z**2), bound=np.pi / 2)
    model = SCNRegressor(**SMALL, activation=arctan).fit(X, Y)
    np.testing.assert_allclose(model.feature_importances_, expected(model.network_, X), rtol=1e-5, atol=1e-9)


def test_gradients_that_are_not_finite_leave_the_fit_alone():
    strange = Activation("strange", lambda z: np.tanh(z, out=z), lambda z: np.full_like(z, np.nan), bound=1.0)
    model = SCNRegressor(**SMALL, configuration="ladder", activation=strange).fit(X, Y)
    with pytest.raises(AttributeError, match="gradients are not finite"):
        _ = model.feature_importances_


@dataclass(frozen=True)
class Steps(Layer):
    """A layer without gradients."""

    def values(self, x, folded, memory=None):
        """0 or 1."""
        return (x @ folded > 0.0).astype(x.dtype)


def test_a_layer_without_gradients_is_named(monkeypatch):
    monkeypatch.setitem(LAYERS, "steps", Steps)
    model = SCNRegressor(**SMALL, layer="steps", configuration="ladder").fit(X, Y)
    with pytest.raises(AttributeError, match="gradients of the layer Steps are not known"):
        _ = model.feature_importances_


def test_scikit_learn_selects_features_by_them():
    rows, y = make_friedman1(500, noise=0.3, random_state=0)
    select = SelectFromModel(SCNRegressor(random_state=0, max_nodes=40), threshold="0.3*mean").fit(rows, y)
    np.testing.assert_array_equal(select.get_support(), np.arange(10) < 5)
    ensemble = SelectFromModel(SCNEnsembleClassifier(n_members=2, random_state=0), max_features=1, threshold=-np.inf)
    pipeline = make_pipeline(ensemble, SCNClassifier(**SMALL)).fit(X, X[:, 2] > 0.5)
    np.testing.assert_array_equal(pipeline[0].get_support(), np.arange(4) == 2)
