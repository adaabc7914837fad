"""Fits under each loss, on every backend, interrupted, continued, stored and exported."""

import dask
import dask.array as da
import numpy as np
import onnxruntime
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1, make_multilabel_classification
from sklearn.metrics import mean_pinball_loss, root_mean_squared_error

from skscn import (
    Chunks,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    load_model,
    save_model,
)
from skscn.fit import checkpoint
from skscn.losses import LOSSES
from skscn.onnx import to_onnx

RNG = np.random.default_rng(5)
X = RNG.uniform(size=(700, 3))
MEAN = np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2]
Y = MEAN + 0.2 * RNG.normal(size=700)
WRONG = RNG.choice(700, 60, replace=False)
Y[WRONG] += RNG.uniform(5, 20, 60)
COUNTS = RNG.poisson(np.exp(MEAN)).astype(float)
LABELS = np.array(["low", "middle", "high"])[np.digitize(MEAN + 0.2 * RNG.normal(size=700), [0.3, 0.9])]
SMALL = {"max_nodes": 14, "max_candidates": 40, "n_iter_no_change": 5, "random_state": 0}
REGRESSION = [name for name, cls in LOSSES.items() if cls.regresses and not cls.plain]
CLASSIFICATION = [name for name, cls in LOSSES.items() if cls.classifies]
EVERY = [*REGRESSION, *(f"{name} of classes" for name in CLASSIFICATION)]


def model_of(name, **parameters):
    """An estimator with a loss, and its target."""
    if name.endswith(" of classes"):
        return SCNClassifier(loss=name.removesuffix(" of classes"), **{**SMALL, **parameters}), LABELS
    model = SCNRegressor(loss=name, quantile=0.8, **{**SMALL, **parameters})
    return model, COUNTS if name == "poisson" else Y


def outputs(model, rows=X):
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)


def same(ours, theirs):
    np.testing.assert_array_equal(ours.network_.weights, theirs.network_.weights)
    np.testing.assert_array_equal(ours.network_.output_weights, theirs.network_.output_weights)
    for name in set(theirs.history_.dtype.names) - {"seconds"}:
        np.testing.assert_array_equal(ours.history_[name], theirs.history_[name])
    assert ours.network_.loss == theirs.network_.loss
    np.testing.assert_array_equal(outputs(ours), outputs(theirs))
    assert hasattr(ours, "row_weights_") == hasattr(theirs, "row_weights_")
    if hasattr(ours, "row_weights_"):
        np.testing.assert_array_equal(ours.row_weights_, theirs.row_weights_)


@pytest.mark.parametrize(
    "algorithm", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("SC-I", "SC-II")), "SC-III"]
)
@pytest.mark.parametrize("name", EVERY)
def test_every_node_satisfies_the_inequality_of_its_round(name, algorithm):
    model, y = model_of(name, algorithm=algorithm)
    model.fit(X, y)
    history = model.history_
    assert (history["slack"] >= 0).all()
    for number in np.unique(history["round"]):
        steps = history[history["round"] == number]
        squares, r = steps["train_rmse"] ** 2, steps["contraction"]
        promised = r + (1 - r) / (steps["nodes"] + 1)
        assert (squares[1:] <= promised[1:] * squares[:-1] * (1 + 1e-9)).all()
    assert model.n_nodes_ <= model.max_nodes


@pytest.mark.parametrize(
    "weighted", [pytest.param(False, id="plain"), pytest.param(True, id="weighted", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "name",
    [
        name if name in ("welsch", "log_loss of classes") else pytest.param(name, marks=pytest.mark.slow)
        for name in EVERY
    ],
)
def test_files_and_dask_give_the_network_of_memory(name, weighted):
    model, y = model_of(name)
    weights = RNG.uniform(0.5, 2.0, 700) if weighted else None
    in_memory = clone(model).fit(X, y, sample_weight=weights)
    same(clone(model).fit(Chunks(X, y, sample_weight=weights, memory_limit=10_000)), in_memory)
    chunks = (150, 0, 350, 200)
    rows, target, given = (
        None if a is None else da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in (X, y, weights)
    )
    with dask.config.set(scheduler="synchronous"):
        same(clone(model).fit(rows, target, sample_weight=given), in_memory)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_fit_that_dies_in_any_round_goes_on_to_the_same_network(name, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
    model, y = model_of(name)
    whole = clone(model).fit(X, y)
    save, total = checkpoint.CheckpointFile.write, len(whole.history_)
    for died in sorted({2, total // 2, total - 1}):
        counted = []

        def saving(self, *arguments, died=died, counted=counted):
            save(self, *arguments)
            counted.append(1)
            if len(counted) == died:
                raise KeyboardInterrupt

        path = tmp_path / f"{died}.ckpt"
        with monkeypatch.context() as patched:
            patched.setattr(checkpoint.CheckpointFile, "write", saving)
            with pytest.raises(KeyboardInterrupt):
                clone(model).set_params(checkpoint=path).fit(X, y)
        same(clone(model).set_params(checkpoint=path).fit(X, y), whole)


@pytest.mark.parametrize("name", EVERY)
def test_a_network_is_continued(name):
    model, y = model_of(name, warm_start=True, early_stopping=False, max_nodes=5, nodes_per_step=1)
    first = model.fit(X, y).network_
    model.set_params(max_nodes=11).fit(X, y)
    assert model.n_nodes_ > first.n_nodes
    assert model.n_nodes_ <= 11
    # Up to 11 nodes they are not polished together; those that it was continued from are the first of its last round.
    kept = len(first.layers[0].nodes)
    np.testing.assert_array_equal(model.network_.weights[:, :kept], first.layers[0].nodes.weights)


@pytest.mark.parametrize("name", EVERY)
def test_a_model_file_holds_the_loss(name, tmp_path):
    model, y = model_of(name)
    save_model(model.fit(X, y), tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    assert loaded.network_.loss == model.network_.loss
    np.testing.assert_array_equal(outputs(loaded), outputs(model))
    np.testing.assert_array_equal(loaded.history_, model.history_)


@pytest.mark.parametrize("name", EVERY)
def test_onnx_predicts_the_same(name):
    model, y = model_of(name)
    session = onnxruntime.InferenceSession(to_onnx(model.fit(X, y)).SerializeToString())
    found = session.run(["probabilities" if name.endswith("classes") else "variable"], {"X": X})[0]
    np.testing.assert_allclose(found.reshape(outputs(model).shape), outputs(model), atol=1e-9)


@pytest.mark.parametrize("name", EVERY)
def test_staged_predictions_are_exact_or_refused(name):
    model, y = model_of(name)
    model.fit(X, y)
    if model.network_.loss.staged:
        *_, last = model.staged_predict(X)
        if name.endswith("classes"):
            np.testing.assert_array_equal(last, model.predict(X))
        else:
            np.testing.assert_allclose(last, model.predict(X), atol=1e-7)
        return
    with pytest.raises(
        ValueError, match=r'finished network only, so there are no staged predictions; use loss="squared"'
    ):
        next(model.staged_predict(X))


@pytest.mark.parametrize("name", REGRESSION)
def test_ensembles(name, tmp_path):
    member, y = model_of(name, early_stopping=True, validation_fraction=0.2)
    ensemble = SCNEnsembleRegressor(member, n_members=3, random_state=0).fit(X, y)
    save_model(ensemble, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    np.testing.assert_array_equal(loaded.predict(X), ensemble.predict(X))
    np.testing.assert_array_equal(loaded.predict_quantiles(X), ensemble.predict_quantiles(X))
    assert hasattr(ensemble, "row_weights_") == LOSSES[name].weighs
    # Out-of-bag rows stay unseen: their predictions do not depend on their targets.
    unseen = np.flatnonzero(ensemble.out_of_bag_[0])
    assert len(unseen) == 140


# ---- robust losses


@pytest.fixture(scope="module")
def friedman():
    rows, target = make_friedman1(800, noise=1.0, random_state=0)
    test = make_friedman1(1000, noise=0.0, random_state=1)
    wrong = np.random.default_rng(0).choice(800, 80, replace=False)
    return rows, target, wrong, test


def clean_error(loss, rows, target, test):
    model = SCNRegressor(loss=loss, random_state=0).fit(rows, target)
    return np.sqrt(np.mean((model.predict(test[0]) - test[1]) ** 2)), model


@pytest.mark.parametrize("loss", ["welsch", "bisquare", "kde"])
def test_outliers_do_not_ruin_a_fit(loss, friedman):
    rows, target, wrong, test = friedman
    clean, _ = clean_error("squared", rows, target, test)
    same_rows, model = clean_error(loss, rows, target, test)
    # Errors of single networks differ by several percent, whatever the loss.
    assert same_rows <= 1.15 * clean
    assert (model.history_["round"] == 1).all()
    assert (model.row_weights_ < 0.2).mean() <= 0.01
    shifted = target.copy()
    shifted[wrong] += np.random.default_rng(1).uniform(20, 100, 80)
    robust, model = clean_error(loss, rows, shifted, test)
    assert robust <= 1.4 * clean
    assert model.history_["round"].max() > 1
    assert (model.row_weights_[wrong] < 0.2).mean() >= 0.98
    assert (np.delete(model.row_weights_, wrong) < 0.2).mean() <= 0.02
    ruined, _ = clean_error("squared", rows, shifted, test)
    assert robust < 0.2 * ruined


def test_outliers_set_neither_bounds_nor_intervals(friedman):
    rows, target, wrong, test = friedman
    shifted = target.copy()
    shifted[wrong] += np.random.default_rng(1).uniform(1e6, 1e9, 80)
    _, model = clean_error("welsch", rows, shifted, test)
    low, high = (model.network_.outputs.inverse_transform(bound)[0] for bound in model.network_.bounds)
    assert target.min() - 5 < low
    assert high < target.max() + 5
    member = SCNRegressor(loss="welsch", early_stopping=True, validation_fraction=0.2)
    ensemble = SCNEnsembleRegressor(member, n_members=3, random_state=0).fit(rows, shifted)
    lower, upper = ensemble.predict_interval(rows, coverage=0.9)
    ordinary = np.setdiff1d(np.arange(800), wrong)
    covered = ((lower <= target) & (target <= upper))[ordinary].mean()
    assert 0.8 < covered < 1.0
    assert np.median(upper - lower) < 8
    assert (ensemble.row_weights_[wrong] < 0.2).all()


def test_rows_of_weight_0_counted_for_nothing_at_all():
    weights = np.ones(700)
    weights[[3, 699]] = 0.0
    model = SCNRegressor(loss="welsch", **SMALL).fit(X, Y, sample_weight=weights)
    assert model.row_weights_.shape == (700,)
    assert model.row_weights_[[3, 699]].tolist() == [0.0, 0.0]
    assert model.set_params(loss="squared").fit(X, Y) is model
    assert not hasattr(model, "row_weights_")


def test_a_steep_region_is_learnt_in_spite_of_outliers():
    """Welsch's loss with a tenth of the targets wrong, compared with squared error without any, on a narrow peak."""
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows, test = rng.uniform(size=(1000, 4)), rng.uniform(size=(1500, 4))
        wanted, true = (
            np.sin(5 * x[:, 0]) + 6 * np.exp(-60 * ((x[:, 0] - 0.5) ** 2 + (x[:, 1] - 0.4) ** 2)) for x in (rows, test)
        )
        target = wanted + 0.1 * rng.normal(size=1000)
        wrong = target + (rng.permutation(1000) < 100) * rng.uniform(2, 10, 1000) * target.std()
        welsch, squared = (
            root_mean_squared_error(true, SCNRegressor(loss=loss, random_state=seed).fit(rows, y).predict(test))
            for loss, y in (("welsch", wrong), ("squared", target))
        )
        ratios.append(welsch / squared)
    assert np.exp(np.mean(np.log(ratios))) < 1.3


def error_on_peaks(loss, seed, far=0):
    """The error from two narrow peaks without outliers, or with a tenth of the targets this far away."""
    rng = np.random.default_rng(seed)
    rows, test = rng.uniform(size=(800, 1)), np.linspace(0, 1, 2000)[:, np.newaxis]
    wanted, true = (
        (0.3 * x + 0.8 * np.exp(-((20 * x - 6) ** 2)) + 0.5 * np.exp(-((40 * x - 30) ** 2)))[:, 0] for x in (rows, test)
    )
    target = wanted + 0.02 * rng.normal(size=800)
    target[rng.permutation(800)[:80]] += far
    return root_mean_squared_error(true, SCNRegressor(loss=loss, random_state=seed).fit(rows, target).predict(test))


def test_peaks_far_from_the_median_are_grown_on_as_they_are():
    """The first round moves them closer, so that it is not the last one, although it finds no outliers."""
    ratios = [error_on_peaks("huber", seed) / error_on_peaks("squared", seed) for seed in range(3)]
    assert np.exp(np.mean(np.log(ratios))) < 1.4


def test_how_far_an_outlier_is_makes_no_difference_to_a_convex_loss():
    """Its square does not choose the ridge of the output weights."""
    near, far = (np.mean([np.log(error_on_peaks("huber", seed, by)) for seed in range(3)]) for by in (4, 400))
    assert far - near < np.log(1.5)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["huber", "welsch", "bisquare", "kde"])
@pytest.mark.parametrize("share", [0.5, 0.7, 1.0])
def test_half_or_all_of_the_rows_may_be_outliers(loss, share):
    wrong = Y.copy()
    wrong[: int(share * 700)] += RNG.standard_cauchy(int(share * 700)) * 1e3
    model = SCNRegressor(loss=loss, **SMALL).fit(X, wrong)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("name", REGRESSION)
def test_a_target_with_two_values_or_one(name):
    model, _ = model_of(name)
    assert np.isfinite(clone(model).fit(X, (MEAN > 1.2).astype(float)).predict(X)).all()
    np.testing.assert_allclose(clone(model).fit(X, np.full(700, 3.0)).predict(X), 3.0, rtol=0.05)


def test_several_outputs():
    both = np.column_stack([Y, 100 * MEAN])
    for loss in ("huber", "welsch", "bisquare", "kde", "absolute", "quantile"):
        model = SCNRegressor(loss=loss, **SMALL).fit(X, both)
        error = np.sqrt(np.mean((model.predict(X)[:, 1] / 100 - MEAN) ** 2))
        assert error < 0.1, loss
    with pytest.raises(ValueError, match="'poisson' is for one output, but y has 2; wrap .*MultiOutputRegressor"):
        SCNRegressor(loss="poisson").fit(X, np.abs(both))


# ---- quantiles and counts


def test_quantiles_hold_their_share():
    rng = np.random.default_rng(3)
    rows, test = rng.uniform(size=(2, 1500, 2))
    noise = rng.normal(size=(2, 1500))
    target, wanted = (np.sin(5 * x[:, 0]) + (0.1 + x[:, 1]) * e for x, e in zip((rows, test), noise, strict=True))
    losses = {}
    for q in (0.05, 0.5, 0.95):
        model = SCNRegressor(loss="quantile", quantile=q, random_state=0).fit(rows, target)
        predicted = model.predict(test)
        assert (wanted <= predicted).mean() == pytest.approx(q, abs=0.03)
        losses[q] = mean_pinball_loss(wanted, predicted, alpha=q)
    exact = np.sin(5 * test[:, 0]) - 1.645 * (0.1 + test[:, 1])
    assert losses[0.05] < 1.2 * mean_pinball_loss(wanted, exact, alpha=0.05)


def test_quantiles_of_an_ensemble_do_not_cross():
    ensemble = SCNEnsembleRegressor(n_members=4, random_state=0).fit(X, MEAN + X[:, 0] * RNG.normal(size=700))
    shares = np.linspace(0.02, 0.98, 25)
    found = ensemble.predict_quantiles(X, shares)
    assert found.shape == (700, 25)
    assert (np.diff(found, axis=1) >= 0).all()
    assert (ensemble.predict_quantiles(X, (0.0005,)) == -np.inf).all()
    both = SCNEnsembleRegressor(n_members=2, random_state=0).fit(X, np.column_stack([Y, MEAN]))
    assert both.predict_quantiles(X[:10], (0.1, 0.9)).shape == (10, 2, 2)
    for wrong in ((0.0,), (0.5, 1.2), ((0.1, 0.2),)):
        with pytest.raises(ValueError, match="quantiles must lie between 0 and 1"):
            ensemble.predict_quantiles(X, wrong)


def test_counts_have_positive_means_and_exposures():
    rng = np.random.default_rng(0)
    exposure = rng.uniform(0.2, 3.0, 700)
    rate = rng.poisson(exposure * np.exp(MEAN)) / exposure
    model = SCNRegressor(loss="poisson", random_state=0).fit(X, rate, sample_weight=exposure)
    predicted = model.predict(X)
    assert (predicted > 0).all()
    assert np.mean(np.abs(predicted - np.exp(MEAN))) < 0.2 * np.exp(MEAN).mean()
    assert np.average(predicted, weights=exposure) == pytest.approx(np.average(rate, weights=exposure), rel=0.02)


# ---- classes


def test_class_weights():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 2)) + 1.0
    labels = np.where(rng.random(600) < 0.1, "rare", "common")
    rows[labels == "rare"] -= 1.5
    plain, balanced, given = (
        SCNClassifier(class_weight=weight, **SMALL).fit(rows, labels).predict(rows) == "rare"
        for weight in (None, "balanced", {"rare": 9.0})
    )
    assert plain.sum() < balanced.sum()
    assert plain.sum() < given.sum()
    balanced_model = SCNClassifier(class_weight="balanced", **SMALL).fit(rows, labels)
    assert balanced_model.predict_proba(rows)[:, 1].mean() == pytest.approx(0.3, abs=0.15)
    with dask.config.set(scheduler="synchronous"):
        on_dask = clone(balanced_model).fit(da.from_array(rows, chunks=(200, 2)), da.from_array(labels, chunks=200))
    np.testing.assert_allclose(on_dask.predict_proba(rows), balanced_model.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize(
    ("weight", "message"),
    [({"no": 2.0}, "classes that y does not have: 'no'"), ({"low": 0.0}, "must be above 0 for each class")],
)
def test_bad_class_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        SCNClassifier(class_weight=weight).fit(X, LABELS)


@pytest.mark.parametrize("backend", ["memory", "files", "dask"])
def test_several_labels(backend, tmp_path):
    rows, labels = make_multilabel_classification(400, n_features=6, n_classes=4, random_state=0)
    model = SCNClassifier(**SMALL)
    if backend == "memory":
        model.fit(rows, labels)
    elif backend == "files":
        model.fit(Chunks(rows, labels))
    else:
        with dask.config.set(scheduler="synchronous"):
            model.fit(da.from_array(rows, chunks=(150, 6)), da.from_array(labels, chunks=(150, 4)))
    probabilities = model.predict_proba(rows)
    assert probabilities.shape == (400, 4)
    np.testing.assert_array_equal(model.predict(rows), probabilities > 0.5)
    assert ((probabilities > 0.5) == labels).mean() > 0.78
    np.testing.assert_array_equal((model.decision_function(rows) > 0), probabilities > 0.5)
    save_model(model, tmp_path / "model.scn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.scn").predict_proba(rows), probabilities)


def test_an_ensemble_for_several_labels(tmp_path):
    rows, labels = make_multilabel_classification(400, n_features=6, n_classes=4, random_state=0)
    ensemble = SCNEnsembleClassifier(n_members=3, random_state=0).fit(rows, labels)
    assert ((ensemble.predict(rows)) == labels).mean() > 0.78
    assert 0.3 < ensemble.oob_score_ < 1.0
    save_model(ensemble, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    np.testing.assert_array_equal(loaded.predict_proba(rows), ensemble.predict_proba(rows))


@pytest.mark.parametrize("count", [26, pytest.param(100, marks=pytest.mark.slow)])
def test_many_classes_do_not_end_growth(count):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(count, 5)) * 3
    labels = np.repeat(np.arange(count), 30)
    rows = centres[labels] + rng.normal(size=(len(labels), 5))
    model = SCNClassifier(max_nodes=40, early_stopping=False, max_candidates=30, random_state=0).fit(rows, labels)
    assert model.stop_reason_ == "max_nodes"
    assert model.score(rows, labels) > 0.6


def test_no_probability_is_below_what_the_rows_can_tell():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(40, 2)) - 9, rng.normal(size=(40, 2)) + 9])
    labels = np.repeat([0, 1], 40)
    for model in (SCNClassifier(random_state=0), SCNEnsembleClassifier(n_members=3, random_state=0)):
        probabilities = model.fit(rows, labels).predict_proba(100 * rows)
        assert probabilities.min() >= 1 / 80**2
        assert model.score(rows, labels) == 1.0


# ---- what is refused


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (SCNRegressor(loss="tukey"), Y, "'loss' parameter of SCNRegressor must be a str among"),
        (
            SCNRegressor(loss="quantile", quantile=1.0),
            Y,
            "'quantile' parameter of SCNRegressor must be a float in the range",
        ),
        (SCNRegressor(loss="poisson"), Y - 10, "counts and rates, which are not negative; y has"),
        (SCNRegressor(loss="poisson"), 0 * Y, "needs a target above 0 somewhere; y has only zeros"),
        (SCNRegressor(loss="log_loss"), Y, "loss='log_loss' is for classes; use SCNClassifier"),
        (
            SCNClassifier(loss="huber"),
            LABELS,
            "loss='huber' is for regression; use loss='squared' or loss='log_loss' for classes",
        ),
        (SCNClassifier(), np.column_stack([LABELS, LABELS]), "indicator for each label, 0 or 1"),
        (SCNClassifier(loss="squared"), RNG.integers(0, 2, (700, 3)), 'several labels need loss="log_loss"'),
        (
            SCNClassifier(class_weight="balanced"),
            RNG.integers(0, 2, (700, 3)),
            "class_weight is for classes that exclude each other",
        ),
    ],
)
def test_what_is_refused_in_one_sentence(model, target, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, target)
