"""Layers on top of each other: what they compute, when they are kept, and that everything else works with them."""

import dask.array as da
import numpy as np
import onnxruntime
import pytest
from scipy.linalg import lstsq
from scipy.special import expit

from skscn import (
    DeepSCNClassifier,
    DeepSCNRegressor,
    SCNClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    load_model,
    save_model,
)
from skscn.estimators.networks import growth_of
from skscn.fit.deepen import Confirmation, Verdict
from skscn.nodes import Deep, Dense
from skscn.onnx import to_onnx
from skscn.progress import Listener, listening

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(400, 2))
FORMS = ("all", "previous", "output")


def folded(x, times=3):
    """The tent map, iterated: straight pieces whose number doubles each time."""
    for _ in range(times):
        x = 1 - np.abs(1 - 2 * x)
    return x


Y = folded(X[:, 0]) + 0.1 * X[:, 1]
# Two layers of six nodes, and a third of four.
FIXED = {
    "max_nodes": 16,
    "nodes_per_layer": 6,
    "max_layers": 3,
    "early_stopping": False,
    "alpha": 0.0,
    "random_state": 0,
}
# As many as held-out rows choose.
CHOSEN = {"max_layers": 2, "nodes_per_layer": 20, "random_state": 1}


# A product, for which thin layers are better than any number of nodes in one.
INPUTS = np.random.default_rng(0).uniform(size=(300, 4))
PRODUCT = np.prod(np.sin(np.pi * INPUTS), axis=1)
THIN = {"max_layers": 3, "max_nodes": 60, "random_state": 1}


def counted_nodes(function, computed):
    """A function of a layer that notes for how many nodes it is called."""

    def counting(layer, x, nodes):
        columns = function(layer, x, nodes)
        computed.append(columns.shape[1])
        return columns

    return counting


def sizes(model):
    return [block.size for block in model.network_.layers]


@pytest.fixture(scope="module", params=FORMS)
def fixed(request):
    """Three layers, whatever they are good for."""
    return DeepSCNRegressor(inputs=request.param, **FIXED).fit(X, Y)


class StopAt(Listener):
    """Ends a fit after so many steps."""

    def __init__(self, steps):
        self.left = steps

    def step(self, step, max_nodes):
        self.left -= 1
        return self.left == 0


@pytest.fixture(scope="module")
def counted():
    """Layers that held-out rows have chosen, and the number of steps of the fit."""
    listener = StopAt(-1)
    with listening(listener):
        model = DeepSCNRegressor(**CHOSEN).fit(X, Y)
    return model, -1 - listener.left


@pytest.fixture(scope="module")
def deep(counted):
    """Layers that held-out rows have chosen."""
    return counted[0]


@pytest.fixture(scope="module")
def one_layer():
    """The first of them."""
    return SCNRegressor(max_nodes=20, random_state=CHOSEN["random_state"]).fit(X, Y)


@pytest.fixture(scope="module")
def thin():
    """Thin layers from the beginning, which held-out rows have chosen."""
    return DeepSCNRegressor(**THIN).fit(INPUTS, PRODUCT)


@pytest.mark.parametrize(
    ("single", "several", "y"),
    [(SCNRegressor, DeepSCNRegressor, Y), (SCNClassifier, DeepSCNClassifier, Y > 0.5)],
)
def test_one_layer_is_the_network_of_one_layer(single, several, y):
    one, same = single(random_state=0).fit(X, y), several(max_layers=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(same.predict(X), one.predict(X))
    np.testing.assert_array_equal(same.network_.output_weights, one.network_.output_weights)
    np.testing.assert_array_equal(same.history_["train_rmse"], one.history_["train_rmse"])


def test_columns_are_those_of_the_formula(fixed):
    """By hand: sigmoids of sigmoids."""
    network = fixed.network_
    x = network.inputs.transform(X)
    first, second, third = (block.nodes for block in network.layers)
    h = [expit(x @ first.weights + first.biases)]
    for nodes in (second, third):
        if fixed.inputs == "all":
            z = np.hstack([x, *h])
        elif fixed.inputs == "previous":
            z = h[-1]
        else:
            readout = nodes.layer.below[0]
            z = np.column_stack([x, np.hstack([x, *h]) @ readout.weights + readout.biases])
        h.append(expit(z @ nodes.weights + nodes.biases))
    np.testing.assert_allclose(network.hidden(X), np.hstack(h), atol=1e-12)


def test_the_output_that_a_layer_sees_is_that_of_the_network_below():
    model = DeepSCNRegressor(inputs="output", **FIXED).fit(X, Y - Y.mean())
    below = list(model.staged_predict(X))[5]
    x = model.network_.inputs.transform(X)
    seen = model.network_.layers[1].nodes.layer.features(x)[:, -1:]
    # Predictions are kept within bounds, what a layer sees is not.
    bounded = model.network_.outputs.inverse_transform(seen.clip(*model.network_.bounds))
    np.testing.assert_allclose(bounded[:, 0], below, atol=1e-8)


def test_the_training_error_never_rises(fixed):
    """Not where a layer begins either; and it is that of least squares on the columns of all layers."""
    assert sizes(fixed) == [6, 6, 4]
    np.testing.assert_array_equal(np.sort(fixed.history_["train_rmse"])[::-1], fixed.history_["train_rmse"])
    errors = [np.mean((stage - Y) ** 2) for stage in fixed.staged_predict(X)]
    assert (np.diff(errors) <= 1e-12).all()
    columns = np.column_stack([np.ones(len(X)), X, fixed.network_.hidden(X)])
    left = Y - columns @ lstsq(columns, Y)[0]
    np.testing.assert_allclose(errors[-1], np.mean(left**2), rtol=1e-6)


def test_every_node_satisfies_the_inequality(fixed):
    assert (fixed.history_["slack"] >= 0).all()
    assert (np.diff(fixed.history_["nodes"]) > 0).all()
    assert fixed.history_["nodes"][-1] == fixed.n_nodes_ == 16
    assert growth_of(fixed).kept == 16


@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II"])
def test_other_algorithms(algorithm):
    model = DeepSCNRegressor(algorithm, configuration="ladder", scopes=(1, 5, 20), **FIXED).fit(X, Y)
    assert sizes(model) == [6, 6, 4]
    assert (np.diff(model.history_["train_rmse"]) < 0).all()
    np.testing.assert_allclose(list(model.staged_predict(X))[-1], model.predict(X), atol=1e-12)


def test_saved_loaded_exported_and_staged_predictions_agree(fixed, tmp_path):
    new = RNG.uniform(-0.5, 1.5, (200, 2))
    expected = fixed.predict(new)
    save_model(fixed, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    np.testing.assert_array_equal(loaded.predict(new), expected)
    np.testing.assert_allclose(list(loaded.staged_predict(new))[-1], expected, atol=1e-12)
    assert loaded.get_params() == fixed.get_params()
    session = onnxruntime.InferenceSession(to_onnx(fixed).SerializeToString())
    np.testing.assert_allclose(session.run(None, {"X": new})[0][:, 0], expected, atol=1e-9)


def test_nodes_below_are_shared_after_loading(tmp_path):
    """So that the time of predictions does not double with each layer."""
    save_model(DeepSCNRegressor(inputs="all", **FIXED).fit(X, Y), tmp_path / "model.scn")
    _, second, third = (block.nodes.layer for block in load_model(tmp_path / "model.scn").network_.layers)
    assert third.below[0] is second.below[0] is third.below[1].layer.below[0]


def test_a_prediction_computes_the_columns_of_each_node_once(fixed, tmp_path, monkeypatch):
    """Those of the lower layers too, which the layers above see."""
    save_model(fixed, tmp_path / "model.scn")
    networks, computed = [fixed.network_, load_model(tmp_path / "model.scn").network_], []
    monkeypatch.setattr(Dense, "hidden", counted_nodes(Dense.hidden, computed))
    monkeypatch.setattr(Dense, "values", counted_nodes(Dense.values, computed))
    for network in networks:
        network.predict(X[:5])
        assert sum(computed) == 16
        computed.clear()


@pytest.mark.slow
def test_memory_files_and_dask_give_the_same_network(deep, tmp_path):
    rows = np.column_stack([X, Y])
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="a,b,y", comments="", fmt="%.17g")
    model = DeepSCNRegressor(**CHOSEN)
    assert len(sizes(deep)) > 1
    from_file = model.fit(tmp_path / "rows.csv", "y").network_.predict(X)
    np.testing.assert_array_equal(from_file, deep.predict(X))
    model.fit(da.from_array(X, chunks=(150, 2)), da.from_array(Y, chunks=150))
    np.testing.assert_array_equal(model.predict(X), deep.predict(X))


def test_thin_layers_from_the_beginning(thin, tmp_path):
    """They see the output of those below."""
    assert len(sizes(thin)) == 3
    assert max(sizes(thin)) <= 20
    assert all(block.nodes.layer.width(4) == 5 for block in thin.network_.deep)
    assert thin.history_["nodes"][-1] >= thin.n_nodes_ == sum(sizes(thin))
    save_model(thin, tmp_path / "model.scn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.scn").predict(INPUTS), thin.predict(INPUTS))


@pytest.mark.slow
def test_thin_layers_are_the_same_however_the_fit_is_run(thin, tmp_path):
    expected = thin.predict(INPUTS)
    model = DeepSCNRegressor(**THIN, checkpoint=tmp_path / "fit.ckpt")
    for _ in range(2):
        np.testing.assert_array_equal(model.fit(INPUTS, PRODUCT).predict(INPUTS), expected)
    model = DeepSCNRegressor(**THIN)
    model.fit(da.from_array(INPUTS, chunks=(150, 4)), da.from_array(PRODUCT, chunks=150))
    np.testing.assert_array_equal(model.predict(INPUTS), expected)
    smaller = DeepSCNRegressor(**{**THIN, "max_nodes": 40}, warm_start=True).fit(INPUTS, PRODUCT)
    np.testing.assert_array_equal(smaller.set_params(max_nodes=60).fit(INPUTS, PRODUCT).predict(INPUTS), expected)


def test_thin_layers_see_the_output_and_are_not_larger_than_layers_may_be():
    model = DeepSCNRegressor(**THIN, nodes_per_layer=30).fit(INPUTS[:150], PRODUCT[:150])
    assert max(sizes(model)) <= 30
    previous = DeepSCNRegressor(**THIN, inputs="previous").fit(INPUTS[:150], PRODUCT[:150])
    assert not previous.network_.deep or sizes(previous)[0] > 20


def test_differences_are_measured_in_their_standard_errors():
    rng = np.random.default_rng(0)
    losses, gains, weights = (rng.uniform(size=100) for _ in range(3))
    before = Verdict.of(losses, None)
    expected = gains.mean() / (gains.std() / 10)
    np.testing.assert_allclose(Verdict.of(losses - gains, None).lead(before), expected)
    np.testing.assert_allclose(Verdict.of(losses + gains, None).lead(before), -expected)
    # A difference without noise, and none.
    assert Verdict.of(np.full(3, 1.5), None).lead(Verdict.of(np.full(3, 2.0), None)) == np.inf
    assert before.lead(before) == 0.0
    # Rows of weight 2 count twice, and rows of weight 0 not at all.
    one, other = (Verdict.of(values, weights) for values in (losses - gains, losses))
    parts = [np.append(values[:50], values) for values in (losses - gains, losses)]
    np.testing.assert_allclose(one.lead(other), Verdict.of(losses - gains, 3 * weights).lead(other))
    none = np.append(np.zeros(50), np.ones(100))
    np.testing.assert_allclose(Verdict.of(parts[0], none).lead(Verdict.of(parts[1], none)), expected)
    halves = [[Verdict.of(v[:40], None), Verdict.of(v[40:], None)] for v in (losses - gains, losses)]
    np.testing.assert_allclose(Verdict.joined(halves[0]).lead(Verdict.joined(halves[1])), expected)
    # Criteria have no rows.
    assert Verdict(0.9).lead(Verdict(1.0)) == np.inf
    assert Verdict(0.98).lead(Verdict(1.0)) == 0.0


def test_layers_that_do_not_help_are_not_kept():
    """The network is then that of one layer, and so is its history."""
    noisy = X[:, 0] + RNG.normal(size=400)
    single = SCNRegressor(random_state=0).fit(X, noisy)
    model = DeepSCNRegressor(random_state=0).fit(X, noisy)
    np.testing.assert_array_equal(model.predict(X), single.predict(X))
    np.testing.assert_array_equal(model.history_["nodes"], single.history_["nodes"])
    assert model.stop_reason_ == single.stop_reason_


def test_predictions_far_away_stay_near_the_targets(deep):
    far = RNG.normal(size=(500, 2)) * 1e6
    columns = deep.network_.hidden(far)
    assert (columns >= 0).all()
    assert (columns <= 1).all()
    margin = 0.05 * np.ptp(Y) + 1e-9
    assert (np.abs(deep.predict(far) - 0.5 * (Y.min() + Y.max())) <= 0.5 * np.ptp(Y) + margin).all()


def test_importances_are_mean_squared_gradients(fixed):
    step, network = 1e-5, fixed.network_
    gradients = [
        (fixed.predict(X + step * unit) - fixed.predict(X - step * unit)) / (2 * step) * X.std(axis=0)[j]
        for j, unit in enumerate(np.eye(2))
    ]
    squares = (np.array(gradients) ** 2).mean(axis=1)
    inside = np.abs(network.inputs.transform(X) - 0.5).max() < 0.6
    assert inside
    np.testing.assert_allclose(fixed.feature_importances_, squares / squares.sum(), atol=0.02)


def test_a_layer_ends_when_its_nodes_gain_almost_nothing():
    """Noise, of which a random node explains next to nothing; the last layer has the nodes that are left."""
    x, y = RNG.uniform(size=(10_000, 2)), RNG.normal(size=10_000)
    settings = {"configuration": "free", "scopes": (1,), "random_state": 0}
    model = DeepSCNRegressor(max_nodes=30, nodes_per_layer=25, max_layers=2, **settings).fit(x, y)
    first, second = sizes(model)
    assert first < 25
    assert first + second == 30 or second == 25


def test_checkpoints_and_continued_fits_end_with_the_same_network(deep, tmp_path):
    saved = DeepSCNRegressor(**CHOSEN, checkpoint=tmp_path / "fit.ckpt")
    for _ in range(2):
        np.testing.assert_array_equal(saved.fit(X, Y).predict(X), deep.predict(X))
    smaller = DeepSCNRegressor(inputs="all", **{**FIXED, "max_nodes": 12}, warm_start=True).fit(X, Y)
    assert sizes(smaller) == [6, 6]
    whole = DeepSCNRegressor(inputs="all", **FIXED).fit(X, Y)
    np.testing.assert_array_equal(smaller.set_params(max_nodes=16).fit(X, Y).predict(X), whole.predict(X))


def test_losses_in_rounds_have_further_layers_in_the_last_one(tmp_path):
    wrong = Y.copy()
    wrong[RNG.choice(400, 30, replace=False)] += 5
    model = DeepSCNRegressor(loss="huber", **{**FIXED, "max_nodes": 40}).fit(X, wrong)
    depths = [isinstance(block.nodes.layer, Deep) for block in model.network_.layers]
    assert depths[-2:] == [True, True]
    assert not any(depths[:-2])
    assert np.std(model.predict(X) - Y) < 0.5 * np.std(Y)
    save_model(model, tmp_path / "model.scn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.scn").predict(X), model.predict(X))
    with pytest.raises(ValueError, match="cannot continue a network of several layers with loss='huber'"):
        model.set_params(warm_start=True).fit(X, wrong)


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_classes(loss, tmp_path):
    classes = np.digitize(Y, [0.3, 0.8])
    model = DeepSCNClassifier(loss=loss, **{**FIXED, "max_nodes": 24, "nodes_per_layer": 8, "alpha": "auto"})
    model.fit(X, classes)
    assert sizes(model) == [8, 8, 8]
    assert model.score(X, classes) > 0.8
    save_model(model, tmp_path / "model.scn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.scn").predict_proba(X), model.predict_proba(X))


def test_members_of_an_ensemble_may_be_deep(tmp_path):
    member = DeepSCNRegressor(**{**FIXED, "random_state": None})
    ensemble = SCNEnsembleRegressor(member, n_members=2, random_state=0).fit(X, Y)
    assert [sizes(one) for one in ensemble.members_] == [[6, 6, 4]] * 2
    save_model(ensemble, tmp_path / "model.scn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.scn").predict(X), ensemble.predict(X))


def test_a_listener_ends_a_fit_in_any_layer(one_layer):
    listener = StopAt(one_layer.n_iter_ + 2)
    with listening(listener):
        model = DeepSCNRegressor(**CHOSEN).fit(X, Y)
    assert (listener.left, model.stop_reason_) == (0, "callback")
    assert len(sizes(model)) <= 2


def test_a_fit_that_was_ended_in_the_first_layer_has_no_others():
    """Thin ones are not begun either."""
    listener = StopAt(8)
    with listening(listener):
        model = DeepSCNRegressor(**THIN).fit(INPUTS, PRODUCT)
    assert (listener.left, model.stop_reason_, len(model.history_)) == (0, "callback", 8)


def test_a_listener_ends_a_fit_while_other_rows_are_asked(counted, capsys):
    """Held-out rows then decide alone; here they are clear."""
    deep, steps = counted
    listener = StopAt(steps - 1)
    with listening(listener):
        model = DeepSCNRegressor(**CHOSEN, verbose=1).fit(X, Y)
    assert "DeepSCNRegressor, check 3 of 3, layer 2" in capsys.readouterr().err
    assert (listener.left, model.stop_reason_) == (0, "callback")
    np.testing.assert_array_equal(model.predict(X), deep.predict(X))


@pytest.mark.parametrize("lead", [-10.0, 10.0, None])
def test_other_rows_refuse_layers_or_confirm_them(deep, one_layer, lead, monkeypatch):
    monkeypatch.setattr(Confirmation, "lead", lambda self, pile, kept: lead)
    model = DeepSCNRegressor(**CHOSEN).fit(X, Y)
    expected = one_layer if lead == -10.0 else deep
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert (model.stop_reason_ == "callback") == (lead is None)


def test_rows_that_may_be_in_an_order_are_not_divided_at_random(monkeypatch):
    """Rows that were given decide alone, and so do the last ones."""
    asked = []
    monkeypatch.setattr(Confirmation, "lead", lambda self, pile, kept: asked.append(pile) or 10.0)
    model = DeepSCNRegressor(**CHOSEN).fit(X[:300], Y[:300], X_val=X[300:], y_val=Y[300:])
    model.set_params(validation="last").fit(X, Y)
    assert not asked


def test_more_layers_may_be_tried_than_are_kept():
    """Callbacks count steps, and are told no limit that these would exceed."""
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(150, 4))
    y = np.sin(6 * x[:, 0]) + 0.5 * rng.normal(size=150)
    settings = {"max_nodes": 30, "nodes_per_step": 1, "n_iter_no_change": 100, "random_state": 0}
    single = SCNRegressor(**settings).fit(x, y)
    assert sizes(DeepSCNRegressor(**settings).fit(x, y)) == sizes(single)


def test_what_does_not_go_together():
    with pytest.raises(ValueError, match='Quickprop is for one layer; use configuration="polished", or max_layers=1'):
        DeepSCNRegressor(configuration="quickprop").fit(X, Y)
    with pytest.raises(ValueError, match="The 'inputs' parameter of DeepSCNRegressor must be"):
        DeepSCNRegressor(inputs="input").fit(X, Y)
    with pytest.raises(ValueError, match="The 'max_layers' parameter"):
        DeepSCNRegressor(max_layers=0).fit(X, Y)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_about_half_the_error_of_one_layer_at_equal_nodes(seed):
    """The product of six sines, five layers that see the output of those below."""
    rng = np.random.default_rng(seed)
    x, new = rng.uniform(size=(2000, 6)), rng.uniform(size=(2000, 6))
    y, truth = (np.prod(np.sin(np.pi * rows), axis=1) for rows in (x, new))
    settings = {"max_nodes": 60, "early_stopping": False, "random_state": seed}
    single = SCNRegressor(**settings).fit(x, y)
    model = DeepSCNRegressor(inputs="output", **settings).fit(x, y)
    errors = [np.std(each.predict(new) - truth) for each in (single, model)]
    assert single.n_nodes_ == model.n_nodes_ == 60
    assert errors[1] < 0.55 * errors[0]
