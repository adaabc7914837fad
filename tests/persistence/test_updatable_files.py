"""Models that are updated after they were loaded, and files that leave out what updates need."""

import numpy as np
import pytest

from skscn import (
    IRVFLRegressor,
    ModelFileError,
    RecurrentSCNRegressor,
    SCNClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    archive,
    load_model,
    persistence,
    save_model,
)

RNG = np.random.default_rng(0)
X = np.random.default_rng(1).uniform(size=(120, 3))
Y = np.sin(6 * X[:, 0]) + X[:, 1]
SMALL = {"max_nodes": 8, "max_candidates": 20, "random_state": 0}
MODELS = {
    "average": (SCNRegressor(early_stopping=True, **SMALL), Y),
    "SC-II": (SCNRegressor("SC-II", **SMALL), Y),
    "IRVFL": (IRVFLRegressor(max_nodes=6, random_state=0), Y),
    "classes": (SCNClassifier(class_weight="balanced", **SMALL), np.digitize(Y, [0.4, 1.0])),
    "calibrated": (SCNClassifier(loss="squared", **SMALL), Y > 0.7),
    "ensemble": (SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=2, random_state=0), Y),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_learns_as_the_model_would_have(name, tmp_path):
    model, target = MODELS[name]
    model.partial_fit(X[:60], target[:60], sample_weight=np.linspace(1.0, 2.0, 60))
    for rows in (slice(60, 90), slice(90, 120)):
        save_model(model, tmp_path / "model.scn")
        loaded = load_model(tmp_path / "model.scn")
        for each in (model, loaded):
            each.partial_fit(X[rows], target[rows])
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.n_rows_seen_ == model.n_rows_seen_ == rows.stop
    save_model(model, tmp_path / "fixed.scn", updatable=False)
    fixed = load_model(tmp_path / "fixed.scn")
    np.testing.assert_array_equal(fixed.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="must be fitted once more before it can be updated"):
        fixed.partial_fit(X, target)


def test_recurrent_models_leave_out_what_rows_join(tmp_path):
    model = RecurrentSCNRegressor(max_nodes=6, max_candidates=20, random_state=0).fit(X[:90], Y[:90])
    sizes = []
    for updatable in (True, False):
        save_model(model, tmp_path / "model.scn", updatable=updatable)
        sizes.append((tmp_path / "model.scn").stat().st_size)
    fixed = load_model(tmp_path / "model.scn")
    assert sizes[1] < sizes[0]
    np.testing.assert_array_equal(fixed.predict(X), model.predict(X))
    assert fixed.stream(learning=None).predict_one(X[0]) == model.stream(learning=None).predict_one(X[0])
    for learn in (lambda: fixed.partial_fit(X[90:], Y[90:]), lambda: fixed.stream()):
        with pytest.raises(ValueError, match="saved with updatable=False"):
            learn()


def test_what_updates_need_takes_about_four_bytes_for_each_pair_of_columns(tmp_path):
    noisy = Y + 0.1 * np.random.default_rng(2).normal(size=len(Y))
    model = SCNRegressor(max_nodes=60, max_candidates=20, early_stopping=False, random_state=0).fit(X, noisy)
    assert model.n_nodes_ == 60
    sizes = []
    for updatable in (True, False):
        save_model(model, tmp_path / "model.scn", updatable=updatable)
        sizes.append((tmp_path / "model.scn").stat().st_size)
    assert sizes[0] - sizes[1] == pytest.approx(4 * len(model.network_.coefficients) ** 2, rel=0.2)


def test_stages_survive_updates_and_files(tmp_path):
    model = SCNRegressor(early_stopping=True, **SMALL).fit(X[:80], Y[:80]).partial_fit(X[80:], Y[80:])
    stages = list(model.staged_predict(X))
    save_model(model, tmp_path / "model.scn", updatable=False)
    for one, other in zip(load_model(tmp_path / "model.scn").staged_predict(X), stages, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        (lambda network, arrays: arrays.update({"network_.shares": arrays["network_.shares"] * -1.0}), "below 0"),
        (lambda network, arrays: network.update(alpha=-1.0), "alpha is -1.0"),
        (lambda network, arrays: drop_factor(network, arrays), "neither directions nor a factor"),
    ],
)
def test_forged_factors_are_refused(forge, reason, tmp_path):
    model = SCNRegressor(early_stopping=True, **SMALL).fit(X[:80], Y[:80]).partial_fit(X[80:], Y[80:])
    assert model.network_.shares is not None
    path = tmp_path / "model.scn"
    save_model(model, path)
    about, arrays = archive.read_archive(path, persistence._KIND)
    forge(about["model"]["fitted"]["network_"], arrays)
    archive.write_archive(path, persistence._KIND, {k: about[k] for k in ("versions", "notes", "model")}, arrays)
    with pytest.raises(ModelFileError, match=reason):
        load_model(path)


def drop_factor(network, arrays):
    network["factor"] = None
    for name in [name for name in arrays if ".factor." in name]:
        del arrays[name]
