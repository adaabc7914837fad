"""RecurrentSCNRegressor: fits, groups, missing targets, streams, forecasts, files, and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skscn import ModelFileError, RecurrentSCNRegressor, describe_model, load_model, save_model
from skscn.progress import Listener, listening
from skscn.recurrent.learners import Standard

SMALL = {"max_nodes": 10, "max_candidates": 60, "nodes_per_step": 5, "random_state": 0}


def plant(n=400, seed=0):
    """An output that depends on itself and on earlier inputs."""
    u = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    y = np.zeros(n)
    for t in range(3, n):
        y[t] = 0.7 * y[t - 1] + 0.2 * np.tanh(2 * u[t - 2, 0]) + 0.1 * u[t - 1, 0] * u[t - 3, 1]
    return u, y


X, Y = plant()
TWO = np.column_stack([Y, np.roll(X[:, 1], 1)])
WAVES = np.sin(np.arange(500) / 4) + 0.5 * np.sin(np.arange(500) / 9)


@pytest.fixture(scope="module")
def model():
    return RecurrentSCNRegressor(**SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def free():
    return RecurrentSCNRegressor(feedback=True, **SMALL).fit(None, WAVES[:400])


@pytest.fixture(scope="module")
def driven():
    """Inputs, feedback, and two outputs."""
    return RecurrentSCNRegressor(feedback=True, **SMALL).fit(X, TWO)


@pytest.fixture(scope="module")
def models(model, free, driven):
    return [(model, X, None), (free, None, WAVES), (driven, X, TWO)]


def test_it_learns_a_dynamic_system(model):
    later, target = plant(800, seed=1)
    assert model.score(later, target) > 0.85
    assert model.n_nodes_ == model.reservoir_.n_nodes <= 10
    assert model.reservoir_.has_echo_state()
    assert model.stop_reason_ in ("max_nodes", "early stopping", "tol", "no candidate")


def test_an_equation_of_products_is_found_exactly():
    u = np.random.default_rng(0).uniform(-1, 1, (400, 1))
    y = 0.3 * np.roll(u[:, 0], 1) * np.roll(u[:, 0], 2) - 0.5 * u[:, 0] ** 2
    fitted = RecurrentSCNRegressor(**SMALL | {"max_candidates": 200}).fit(u[:300], y[:300])
    assert np.abs(fitted.predict(u[300:], state="end") - y[300:]).max() < 1e-10
    assert fitted.stop_reason_ == "tol"


def test_history_tells_every_step(model):
    history = model.history_
    assert set(history["round"]) == set(range(1, 9))
    for number in range(1, 9):
        steps = history[history["round"] == number]
        assert (np.diff(steps["nodes"]) > 0).all()
        assert (np.diff(steps["train_rmse"]) < 0).all()
        assert (steps["slack"] >= 0).all()
        assert (steps["contraction"] < 1).all()
        assert np.isnan(steps["validation_rmse"]).all() == (number == 8)
    assert history["nodes"][-1] == model.n_nodes_


def test_two_fits_are_the_same(model):
    again = clone(model).fit(X, Y)
    assert (again.predict(X) == model.predict(X)).all()


def test_a_fit_like_another_one_has_its_structure_and_no_pilots(model, capsys):
    again = clone(model).set_params(verbose=2).fit(X[:300], Y[:300], like=model)
    assert "pilot networks" not in capsys.readouterr().err
    assert again.reservoir_.length == model.reservoir_.length
    assert again._configs == model._configs
    # Two networks of this configuration, and the last one.
    assert set(again.history_["round"]) == {1, 2, 3}


def test_echo_state_of_fitted_models(models):
    rng = np.random.default_rng(0)
    for fitted, inputs, outputs in models:
        reservoir = fitted.reservoir_
        rows = np.empty((600, 0)) if inputs is None else np.resize(inputs, (600, 2))
        known = None if outputs is None else np.resize(outputs, (600, reservoir.n_outputs))
        start = replace(
            reservoir.cold_state(),
            nodes=rng.uniform(-1, 1, reservoir.n_nodes),
            line=rng.normal(size=(reservoir.length, reservoir.n_driving)),
        )
        one, other = (reservoir.columns(rows, known, state)[0][500] for state in (None, start))
        assert np.abs(one - other).max() < 1e-10


def test_streams_agree_with_batches(models):
    for fitted, inputs, outputs in models:
        batch = fitted.predict(inputs, y=outputs)
        stream = fitted.stream(None, learning=None)
        for n, predicted in enumerate(batch):
            row = None if inputs is None else inputs[n]
            assert np.abs(stream.predict_one(row) - predicted).max() < 1e-10
            if outputs is not None:
                stream.learn_one(row, outputs[n])


def test_predictions_go_on_from_a_state(models):
    for fitted, inputs, outputs in models:
        stream = fitted.stream(None, learning=None)
        for n in range(100):
            row = None if inputs is None else inputs[n]
            stream.learn_one(row, [0.0] if outputs is None else outputs[n])
        cut = [None if values is None else values[100:200] for values in (inputs, outputs)]
        whole = fitted.predict(inputs, y=outputs)[100:200]
        assert np.allclose(fitted.predict(cut[0], y=cut[1], state=stream.state), whole, rtol=0, atol=1e-12)


def test_the_end_of_training_is_a_state(model):
    more, _ = plant(500)
    assert np.allclose(model.predict(more[400:], state="end"), model.predict(more)[400:], rtol=0, atol=1e-12)
    assert model.stream().state.nodes.tolist() == model.state_.nodes.tolist()


def test_equal_rows_are_rows_of_their_own(model):
    one, other = model.stream(learning=None), model.stream(learning=None)
    for _ in range(3):
        one.predict_one(X[0])
        one.learn_one(X[0], 0.0)
        other.learn_one(X[0], 0.0)
    assert one.predict_one(X[1]) == other.predict_one(X[1])


def test_states_are_those_of_the_first_nodes_bit_for_bit(model):
    reservoir, width = model.reservoir_, 1 + model.reservoir_.nodes.width
    half = replace(reservoir, nodes=reservoir.nodes.take(slice(3)))
    assert (half.columns(X)[0][:, width:] == model.transform(X)[:, :3]).all()


def test_groups_and_lists_are_the_same():
    labels = np.repeat(["b", "a", "c"], [150, 130, 120])
    lists = [X[labels == label] for label in "abc"], [Y[labels == label] for label in "abc"]
    grouped = RecurrentSCNRegressor(**SMALL).fit(X, Y, groups=labels)
    listed = RecurrentSCNRegressor(**SMALL).fit(*lists)
    predicted = listed.predict(lists[0])
    assert [len(part) for part in predicted] == [130, 150, 120]
    for label, part in zip("abc", predicted, strict=True):
        assert (grouped.predict(X, labels)[labels == label] == part).all()
    # Rows of groups may alternate.
    mixed = np.random.default_rng(0).permuted(labels)
    order = np.empty(400, int)
    for label in "abc":
        order[mixed == label] = np.flatnonzero(labels == label)
    again = RecurrentSCNRegressor(**SMALL).fit(X[order], Y[order], groups=mixed)
    assert (again.predict(X[order], mixed) == grouped.predict(X, labels)[order]).all()
    assert set(grouped.states_) == set("abc")
    assert np.shape(grouped.predict(X[:5], ["a"] * 5, state="end")) == (5,)


def test_missing_targets_drive_the_state_and_are_not_scored():
    inputs, target = plant(1500)
    rare = np.where(np.arange(1500) % 5 == 0, target, np.nan)
    fitted = RecurrentSCNRegressor(max_nodes=20, max_candidates=200, random_state=0).fit(inputs, rare)
    assert fitted.score(*plant(800, seed=1)) > 0.9
    known = fitted.reservoir_.factor.weight
    assert known == np.isfinite(rare[100:]).sum()


def test_feedback_with_missing_targets_holds_the_last_one():
    rare = np.where(np.arange(400) % 4 == 0, Y, np.nan)
    fitted = RecurrentSCNRegressor(feedback=True, **SMALL).fit(X, rare)
    assert fitted.reservoir_.holds
    batch, stream = fitted.predict(X, y=rare), fitted.stream(None, learning=None)
    for n in range(100):
        assert abs(stream.predict_one(X[n]) - batch[n]) < 1e-12
        stream.learn_one(X[n], rare[n])


def test_several_outputs(driven):
    fitted = RecurrentSCNRegressor(**SMALL).fit(X, TWO)
    assert fitted.predict(X).shape == (400, 2)
    assert driven.forecast(7, X[:7]).shape == (7, 2)
    assert fitted.stream().predict_one(X[0]).shape == (2,)


def test_a_forecast_is_a_stream_of_its_own_predictions(free, driven):
    for fitted, inputs in ((free, None), (driven, X)):
        stream = fitted.stream(learning=None)
        steps = [stream.predict_one(None if inputs is None else inputs[n]) for n in range(20)]
        assert np.allclose(fitted.forecast(20, None if inputs is None else inputs[:20]), steps, rtol=0, atol=1e-12)


def test_forecasts_are_right_and_stay_bounded(free):
    assert np.abs(free.forecast(100) - WAVES[400:]).max() < 0.3
    far = free.forecast(10_000)
    assert np.abs(far).max() <= np.abs(WAVES).max() * 2


def test_intervals_of_forecasts_widen(free):
    low, high = free.forecast_interval(200)
    assert (np.diff(high - low) >= -1e-12).all()
    assert ((low <= free.forecast(200)) & (free.forecast(200) <= high)).all()
    narrow, wide = (np.subtract(*free.forecast_interval(50, coverage=share)[::-1]) for share in (0.5, 0.9))
    assert (narrow <= wide).all()


def test_intervals_contain_about_their_share():
    inputs, target = plant(3000)
    noisy = target + 0.1 * np.random.default_rng(1).normal(size=3000)
    fitted = RecurrentSCNRegressor(**SMALL).fit(inputs[:1500], noisy[:1500])
    low, high = fitted.predict_interval(inputs[1500:], state="end")
    assert 0.86 < ((low <= noisy[1500:]) & (noisy[1500:] <= high)).mean() < 0.94


@pytest.mark.parametrize("learning", ["blend", "projection", "rls"])
def test_learning_follows_a_change(model, learning):
    later, target = plant(800, seed=1)
    target = 1.5 * target + 0.5
    errors = {}
    for kind in (learning, None):
        stream, residuals = model.stream(None, learning=kind, forgetting=0.99), []
        for row, truth in zip(later, target, strict=True):
            residuals.append(stream.predict_one(row) - truth)
            stream.learn_one(row, truth)
        errors[kind] = np.square(residuals[400:]).mean()
    assert errors[learning] < 0.1 * errors[None]


def test_recursive_least_squares_is_least_squares(model):
    """Without forgetting, its weights minimise the squares of all rows and the distance from where it began."""
    stream = model.stream(None, learning="rls", forgetting=1.0)
    first = stream.learnt.weights[0].copy()
    inverse = np.linalg.inv(stream.learnt.recursive.root)
    precision = inverse.T @ inverse
    later, target = plant(100, seed=2)
    for row, truth in zip(later, target, strict=True):
        stream.learn_one(row, truth)
    columns = stream.recent.columns
    H = np.array([Standard(model.reservoir_).row(row) for row in columns])
    scaled = (target[:, np.newaxis] - model.reservoir_.outputs.offset) / model.reservoir_.outputs.scale
    left = scaled - columns @ first
    change = np.linalg.solve(precision + H.T @ H, H.T @ left)
    assert np.allclose(columns @ (stream.learnt.weights[0] - first), H @ change, atol=1e-6)


def test_projection_meets_a_target_that_it_is_shown_again(model):
    stream = model.stream(None, learning="projection", rate=1.0)
    target = Y.max()
    before = abs(stream.predict_one(X[0]) - target)
    stream.learn_one(X[0], target)
    columns, weights = stream.recent.columns[-1], stream.learnt.weights[0]
    after = abs(float(model.reservoir_.shaped((columns @ weights)[np.newaxis])[0]) - target)
    assert after < before


def test_late_targets_belong_to_the_rows_before(model):
    late, timely = model.stream(None), model.stream(None)
    for n in range(30):
        timely.predict_one(X[n])
        late.predict_one(X[n])
        if n >= 5:
            late.learn_one(X[n], Y[n - 5], delay=5)
    assert len(late.recent.columns) == 30
    assert (late.recent.columns == timely.recent.columns).all()
    assert not np.array_equal(late.learnt.weights, timely.learnt.weights)


def test_files_keep_models_and_streams(models, tmp_path):
    for fitted, inputs, outputs in models:
        save_model(fitted, tmp_path / "model.scn")
        loaded = load_model(tmp_path / "model.scn")
        assert np.array_equal(loaded.predict(inputs, y=outputs), fitted.predict(inputs, y=outputs))
        assert (loaded.history_ == fitted.history_)[~np.isnan(fitted.history_["validation_rmse"])].all()
        assert loaded.get_params() == fitted.get_params()
        assert describe_model(tmp_path / "model.scn")["nodes"] == [fitted.n_nodes_]
    assert np.array_equal(loaded.forecast_interval(5, X[:5]), fitted.forecast_interval(5, X[:5]))


@pytest.mark.parametrize("learning", ["blend", "projection", "rls", None])
def test_a_stream_goes_on_after_it_was_saved(model, tmp_path, learning):
    stream = model.stream(learning=learning)
    for n in range(50):
        stream.learn_one(X[n], Y[n])
    save_model(stream, tmp_path / "stream.scn")
    restored = load_model(tmp_path / "stream.scn")
    for n in range(50, 120):
        assert restored.predict_one(X[n]) == stream.predict_one(X[n])
        assert restored.interval() == stream.interval()
        for each in (stream, restored):
            each.learn_one(X[n], Y[n - 3], delay=3)


def test_files_of_groups(tmp_path):
    fitted = RecurrentSCNRegressor(**SMALL).fit(X, Y, groups=np.repeat([3, 7], 200))
    save_model(fitted, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    more = {"groups": [7] * 10, "state": "end"}
    assert (loaded.predict(X[:10], **more) == fitted.predict(X[:10], **more)).all()


def test_a_file_with_nodes_that_hear_later_ones_is_refused(model, tmp_path):
    nodes = model.reservoir_.nodes
    wrong = replace(nodes, factors=np.where(nodes.products, nodes.width + len(nodes), nodes.factors))
    wrong.factors[:, 0] = nodes.width + 5
    broken = clone(model)
    vars(broken).update(vars(model))
    broken.reservoir_ = replace(model.reservoir_, nodes=wrong)
    broken.states_ = {0: replace(model.state_, origin=broken.reservoir_.origin)}
    with pytest.raises(ModelFileError, match="uses a node that is not before it"):
        save_model(broken, tmp_path / "model.scn")


def test_a_listener_can_end_growth():
    class Few(Listener):
        def step(self, step, max_nodes):
            return step.nodes >= 5

    with listening(Few()):
        assert RecurrentSCNRegressor(**SMALL).fit(X, Y).n_nodes_ <= 5


def test_progress_is_shown(capsys):
    RecurrentSCNRegressor(**SMALL, verbose=2).fit(X, Y)
    shown = capsys.readouterr().err
    assert "RecurrentSCNRegressor, round 1 of at most 8 5/10 nodes" in shown
    assert "stopped at" in shown


def test_a_constant_target_is_predicted():
    fitted = RecurrentSCNRegressor(**SMALL).fit(X, np.full(400, 3.0))
    assert np.allclose(fitted.predict(X), 3.0)


def _missing(values, row):
    values = values.copy()
    values[row] = np.nan
    return values


BAD = {
    "lengths": (lambda: RecurrentSCNRegressor().fit(X, Y[:-1]), "X has 400 rows and y has 399"),
    "lists": (lambda: RecurrentSCNRegressor().fit([X, X], [Y, Y[:-1]]), "lists of as many sequences"),
    "widths": (lambda: RecurrentSCNRegressor().fit([X, X[:, :1]], [Y, Y]), "different numbers of columns"),
    "list and groups": (lambda: RecurrentSCNRegressor().fit([X], [Y], groups=[0]), "exclude each other"),
    "labels": (lambda: RecurrentSCNRegressor().fit(X, Y, groups=[0, 1]), "one label for each of the 400 rows"),
    "washout": (lambda: RecurrentSCNRegressor(washout=400).fit(X, Y), "not more than washout=400"),
    "no target": (
        lambda: RecurrentSCNRegressor().fit(X, np.r_[Y[:200], np.full(200, np.nan)], groups=np.repeat([0, 1], 200)),
        "Sequence 1 has no row with a known target",
    ),
    "infinite target": (lambda: RecurrentSCNRegressor().fit(X, np.r_[Y[:-1], np.inf]), "unknown targets by NaN"),
    "missing input": (
        lambda: RecurrentSCNRegressor().fit(_missing(X, 17), Y),
        "first in row 17, column .x0.; fill them in",
    ),
    "no inputs": (lambda: RecurrentSCNRegressor().fit(None, Y), "only a model with feedback=True"),
    "no targets": (lambda: RecurrentSCNRegressor().fit(X, None), "requires y"),
    "few": (lambda: RecurrentSCNRegressor().fit(X[:6], Y[:6]), "too few"),
    "parameter": (lambda: RecurrentSCNRegressor(max_nodes=0).fit(X, Y), "max_nodes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rows_are_refused(case):
    act, message = BAD[case]
    with pytest.raises(ValueError, match=message) as refused:
        act()
    assert "\n" not in str(refused.value)


def test_bad_requests_are_refused(model, free, driven):
    cases = [
        (lambda: model.predict(X[:, :1]), "features"),
        (lambda: model.predict(X, groups=["z"] * 400, state="end"), "Group 'z' was not in training"),
        (lambda: model.predict(X, state=free.state_), "belongs to another model"),
        (lambda: model.stream(free.state_), "belongs to another model"),
        (lambda: model.predict(X, np.repeat([0, 1], 200), state=model.state_), "One state is for one sequence"),
        (lambda: model.predict(X, state="start"), "state must be"),
        (lambda: model.predict_interval(X, coverage=1.0), "coverage must be between 0 and 1"),
        (lambda: model.forecast(5), "feedback=True"),
        (lambda: free.forecast(0), "steps must be a whole number above 0"),
        (lambda: free.forecast(1.5), "steps must be a whole number above 0"),
        (lambda: driven.forecast(5), "has 2 inputs"),
        (lambda: driven.forecast(5, X[:4]), "X has 4 rows for steps=5"),
        (lambda: model.stream(learning="some"), "learning must be"),
        (lambda: model.stream(rate=2.0), "rate must be"),
        (lambda: model.stream(forgetting=0.0), "forgetting must be"),
        (lambda: model.stream().predict_one([1.0]), "has 2 features"),
        (lambda: model.stream().learn_one(X[0], [1.0, 2.0]), "has 1 outputs"),
        (lambda: model.stream().learn_one(X[0], 1.0, delay=1), "delay=1 refers to a row"),
    ]
    for act, message in cases:
        with pytest.raises(ValueError, match=message):
            act()
    with pytest.raises(NotFittedError):
        RecurrentSCNRegressor().predict(X)
