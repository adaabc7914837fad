"""Monotone inputs: no prediction ever moves the wrong way."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.base import clone

from skscn import Activation, SCNClassifier, SCNEnsembleRegressor, SCNRegressor, load_model, save_model
from skscn.factor import Factor
from skscn.monotone import monotone_weights
from skscn.nodes import ACTIVATIONS, IDENTITY, Dense, Nodes
from skscn.onnx import to_onnx

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(150, 3))
Y = np.tanh(6 * X[:, 0] - 3) - X[:, 1] ** 2 + np.sin(5 * X[:, 2]) + 0.3 * RNG.normal(size=150)
SIGNS = [1, -1, 0]
SMALL = {"max_nodes": 15, "max_candidates": 30, "random_state": 0}


def worst(predict, signs, seed, count=10_000):
    """The largest step in the wrong direction, on random pairs inside and outside the training range."""
    rng, signs = np.random.default_rng(seed), np.array(signs)
    lower = rng.uniform(-0.5, 1.5, (count, len(signs)))
    upper = lower + signs * rng.uniform(size=lower.shape) * (rng.random(lower.shape) < 0.5)
    return float((predict(lower) - predict(upper)).max())


def random_model(seed):
    """A network with random settings on random rows of a random function, and its signs."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 5)), int(rng.integers(40, 200))
    rows = rng.uniform(size=(n, d))
    target = np.sin(rows @ rng.normal(0, 4, d)) + rows @ rng.normal(0, 1, d) + 0.2 * rng.normal(size=n)
    signs = rng.integers(-1, 2, d)
    model = SCNRegressor(
        monotone=signs,
        activation=str(rng.choice(["sigmoid", "tanh", "relu"])),
        configuration=str(rng.choice(["polished", "pooled", "ladder"])),
        scaling=str(rng.choice(["minmax", "robust", "standard", "quantile"])),
        alpha=("gcv", 0.0, 1e-3)[rng.integers(3)],
        direct_link=True,
        early_stopping=bool(rng.random() < 0.5),
        random_state=seed,
        max_nodes=int(rng.integers(1, 30)),
    )
    return model.fit(rows, target), signs


@pytest.mark.parametrize("seed", range(20))
def test_random_networks_are_monotone(seed):
    model, signs = random_model(seed)
    assert worst(model.predict, signs, seed) <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 200))
def test_many_random_networks_are_monotone(seed):
    model, signs = random_model(seed)
    assert worst(model.predict, signs, seed) <= 1e-12


def test_output_weights_are_the_best_of_the_cone():
    """Against many others that satisfy the condition, and unconstrained least squares where that satisfies it."""
    rng, signs = np.random.default_rng(1), np.array([1.0, -1.0, 0.0])
    linear = Nodes(IDENTITY, np.eye(3, 4, k=1), np.eye(1, 4)[0])
    nodes = Nodes(Dense(ACTIVATIONS["sigmoid"]), rng.normal(0, 3, (3, 6)), rng.normal(0, 3, 6))
    H = np.hstack([np.ones((150, 1)), X, nodes.layer.hidden(X, nodes)])
    factor = Factor.empty(10, 1, 4).with_rows(H, Y[:, np.newaxis])
    beta = monotone_weights(factor, linear, nodes, signs)

    def error(weights):
        return float(((Y - H @ weights[:, 0]) ** 2).sum())

    def margins(weights):
        links, others = weights[1:4, 0], weights[4:, 0]
        return (signs * links - 0.25 * np.maximum(0, -signs[:, np.newaxis] * nodes.weights * others).sum(axis=1))[:2]

    assert (margins(beta) >= -1e-12).all()
    assert error(beta) > error(factor.output_weights())
    for _ in range(2000):
        other = beta + rng.normal(0, 10 ** rng.uniform(-4, 0), beta.shape)
        if (margins(other) >= 0).all():
            assert error(other) >= error(beta) - 1e-9
    free = monotone_weights(factor, linear, nodes, np.zeros(3))
    np.testing.assert_allclose(free, factor.output_weights(), rtol=1e-8)


def test_ensembles_further_rows_and_files_keep_it(tmp_path):
    single = SCNRegressor(monotone=SIGNS, **SMALL).fit(X[:100], Y[:100])
    ensemble = SCNEnsembleRegressor(clone(single), n_members=3, max_features=0.7, random_state=0).fit(X[:100], Y[:100])
    for model in (single, ensemble):
        assert worst(model.predict, SIGNS, 0) <= 1e-12
        before = model.predict(X)
        model.partial_fit(X[100:], Y[100:])
        assert not np.array_equal(model.predict(X), before)
        assert worst(model.predict, SIGNS, 1) <= 1e-12
        save_model(model, tmp_path / "model.scn")
        loaded = load_model(tmp_path / "model.scn")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        loaded.partial_fit(X[:50], -Y[:50])
        assert worst(loaded.predict, SIGNS, 2) <= 1e-12
    session = onnxruntime.InferenceSession(to_onnx(single).SerializeToString())
    assert worst(lambda rows: session.run(None, {"X": rows})[0][:, 0], SIGNS, 3) <= 1e-12
    np.testing.assert_allclose(list(single.staged_predict(X))[-1], single.predict(X), atol=1e-9)


def test_columns_by_name_beside_categories_and_missing_values():
    frame = pd.DataFrame(X, columns=["steam", "price", "other"]).assign(kind=np.where(X[:, 2] > 0.5, "a", "b"))
    gaps = frame.copy()
    gaps.loc[::7, "steam"] = np.nan
    for table in (frame, gaps):
        estimator = SCNRegressor(monotone={"price": -1, "steam": 1}, **SMALL)
        for model in (estimator, SCNEnsembleRegressor(estimator, n_members=2, random_state=0)):
            model.fit(table, Y)
            more = frame.assign(steam=frame["steam"] + 0.3, price=frame["price"] - 0.2)
            assert (model.predict(more) >= model.predict(frame) - 1e-12).all()


def test_no_signs_change_nothing():
    """The average over numbers of nodes is kept, also by further rows."""
    free, same = (SCNRegressor(monotone=signs, **SMALL).fit(X, Y) for signs in (None, [0, 0, 0]))
    assert free.network_.shares.min() < 1.0
    np.testing.assert_allclose(same.predict(X), free.predict(X), atol=1e-8)
    np.testing.assert_allclose(same.partial_fit(X, -Y).predict(X), free.partial_fit(X, -Y).predict(X), atol=1e-8)


def test_nodes_stay_without_inputs_that_they_were_drawn_without():
    """Else each node would depend on every input a little, and need a link for each of the wrong sign."""
    unused = [
        (SCNRegressor(monotone=signs, random_state=0, max_nodes=30).fit(X, Y).network_.weights == 0.0).any(axis=1)
        for signs in (None, SIGNS)
    ]
    np.testing.assert_array_equal(unused, [[False, False, False], [True, True, False]])


def test_an_ensemble_cannot_be_imitated():
    model = SCNEnsembleRegressor(SCNRegressor(monotone=SIGNS, **SMALL), n_members=2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="compact does not keep monotone inputs; predict with the ensemble"):
        model.compact()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"monotone": [1, 2, 0]}, r"1, -1 or 0 for each input; got \[1, 2, 0\]"),
        ({"monotone": ["+", 0, 0]}, "1, -1 or 0 for each input"),
        ({"monotone": [1, 0]}, "monotone has 2 signs, but there are 3 inputs"),
        ({"monotone": {"steam": 1}}, "monotone names .*steam.*, but the inputs have no names; give a list of signs"),
        ({"algorithm": "SC-II"}, 'SC-II leaves some; use algorithm="SC-III"'),
        ({"loss": "huber"}, "for loss=\"squared\", not for loss='huber'"),
        ({"activation": "gaussian"}, 'an activation among "sigmoid", "tanh", "relu"'),
        ({"activation": Activation("own", np.tanh)}, 'an activation among "sigmoid"'),
        ({"configuration": "ladder"}, "monotone needs direct links; use direct_link=True"),
        ({"warm_start": True}, "cannot be continued; use warm_start=False"),
    ],
)
def test_what_is_refused(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        SCNRegressor(**{"monotone": SIGNS, **parameters}).fit(X, Y)


def test_other_rows_that_are_refused():
    frame = pd.DataFrame(X[:, :2], columns=["steam", "price"]).assign(kind=np.where(X[:, 2] > 0.5, "a", "b"))
    with pytest.raises(ValueError, match="column .*kind.* is not numeric; leave it out"):
        SCNRegressor(monotone={"kind": 1}).fit(frame, Y)
    with pytest.raises(ValueError, match="monotone names .*stem.*, but the columns are .*steam"):
        SCNRegressor(monotone={"stem": 1}).fit(frame, Y)
    with pytest.raises(ValueError, match="monotone is for one output, but y has 2"):
        SCNRegressor(monotone=SIGNS).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="monotone needs direct links from all inputs, but this network has none"):
        SCNRegressor(monotone=SIGNS).fit(X[:10], Y[:10])
    with pytest.raises(TypeError, match="monotone"):
        SCNClassifier(monotone=SIGNS)
