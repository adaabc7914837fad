from dataclasses import replace

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skscn import Chunks, SCNClassifier, SCNRegressor, load_model, save_model
from skscn.factor import Factor

RNG = np.random.default_rng(7)
H = np.column_stack([np.ones(80), RNG.normal(size=(80, 3)), 1 / (1 + np.exp(-RNG.normal(size=(80, 20)) * 3))])
LINEAR = 4
T = np.sin(3 * H[:, [1, 2]]) + 0.3 * RNG.normal(size=(80, 2))
Q, R = np.linalg.qr(H)
C = Q.T @ T
REST = ((T - Q @ C) ** 2).sum(axis=0)
FACTOR = Factor(R, C, REST, 80.0, LINEAR)
PENALTY = np.diag(np.r_[np.zeros(LINEAR), np.ones(20)])


def ridge(columns, alpha):
    """The solution by the normal equations of the penalised problem."""
    penalty = alpha * PENALTY[:columns, :columns]
    return np.linalg.solve(H[:, :columns].T @ H[:, :columns] + penalty, H[:, :columns].T @ T)


@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0, 100.0])
def test_every_prefix_is_solved(alpha):
    factor = FACTOR.regularised(alpha)
    assert np.allclose(factor.triangle, np.triu(factor.triangle))
    for columns in (LINEAR, LINEAR + 1, 15, 24):
        found = np.linalg.solve(factor.triangle[:columns, :columns], factor.coefficients[:columns])
        np.testing.assert_allclose(found, ridge(columns, alpha), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("alpha", [1e-6, 1.0])
def test_the_smoother_gives_the_fit(alpha):
    np.testing.assert_allclose(Q @ FACTOR.smoother(alpha) @ C, H @ ridge(24, alpha), atol=1e-7)


def test_alpha_by_cross_validation_has_the_lowest_score_of_all():
    def score(alpha):
        matrix = H @ np.linalg.solve(H.T @ H + alpha * PENALTY, H.T)
        return ((T - matrix @ T) ** 2).sum() / (1 - np.trace(matrix) / 80) ** 2

    chosen = FACTOR.cross_validated()
    assert score(chosen) <= 1.02 * min(score(alpha) for alpha in np.geomspace(1e-8, 1e3, 200))


def test_without_noise_nothing_is_regularised_and_without_signal_much_is():
    exact = H @ np.random.default_rng(1).normal(size=(24, 1))
    assert Factor(R, Q.T @ exact, np.array([1e-20]), 80.0, LINEAR).cross_validated() < 1e-6
    noise = np.random.default_rng(2).normal(size=(80, 1))
    rest = ((noise - Q @ (Q.T @ noise)) ** 2).sum(axis=0)
    assert Factor(R, Q.T @ noise, rest, 80.0, LINEAR).cross_validated() > 0.1


@pytest.mark.parametrize("sizes", [(80,), (30, 50), (1,) * 80, (0, 79, 1)])
@pytest.mark.parametrize("keep", [1.0, 0.9])
def test_rows_that_join_a_factor_are_solved_with_those_before(sizes, keep):
    weights = np.random.default_rng(3).uniform(0.1, 3.0, 80)
    factor, start, age = Factor.empty(24, 2, LINEAR), 0, np.zeros(80)
    for size in sizes:
        rows = slice(start, start + size)
        factor = factor.with_rows(H[rows], T[rows], np.sqrt(weights[rows]), keep)
        age[:start] += 1
        start += size
    roots = np.sqrt(weights * keep**age)[:, np.newaxis]
    expected, *_ = np.linalg.lstsq(roots * H, roots * T, rcond=None)
    np.testing.assert_allclose(factor.output_weights(), expected, rtol=1e-8, atol=1e-10)
    errors = ((roots * (T - H @ expected)) ** 2).sum(axis=0)
    np.testing.assert_allclose(factor.residual_squares, errors, rtol=1e-9)
    np.testing.assert_allclose(factor.weight, (roots**2).sum())


def test_a_network_keeps_the_factor_of_its_rows_and_files_hold_it(tmp_path):
    model = estimator(0.01, scaling="minmax").fit(DATA, TARGET)
    network = model.network_
    columns = np.hstack([network.inputs.transform(DATA), np.ones((len(DATA), 1))])
    columns = np.hstack([columns @ np.vstack([network.linear.weights, network.linear.biases]), network.hidden(DATA)])
    scaled = network.outputs.transform(TARGET[:, np.newaxis])
    again = Factor.empty(columns.shape[1], 1, network.linear.size).with_rows(columns, scaled)
    found = np.vstack([network.linear.output_weights, network.output_weights])
    np.testing.assert_allclose(again.output_weights(0.01), found, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(network.factor.output_weights(0.01), found, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(network.factor.residual_squares, again.residual_squares, rtol=1e-6)
    assert network.factor.weight == len(DATA)
    save_model(model, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn").network_.factor
    np.testing.assert_array_equal(loaded.triangle, network.factor.triangle)
    np.testing.assert_array_equal(loaded.coefficients, network.factor.coefficients)
    # The other algorithms never evaluate their older weights again, but further rows can join.
    window = SCNRegressor("SC-II", max_nodes=5, random_state=0).fit(DATA, TARGET)
    assert window.network_.factor.weight == len(DATA)
    assert window.partial_fit(DATA, TARGET).n_rows_seen_ == 2 * len(DATA)


def estimator(alpha, **parameters):
    return SCNRegressor(alpha=alpha, max_nodes=15, early_stopping=False, random_state=0, **parameters)


DATA = RNG.uniform(size=(120, 3))
TARGET = np.sin(5 * DATA[:, 0]) + DATA[:, 1] + 0.1 * RNG.normal(size=120)


def test_a_fitted_network_has_the_ridge_solution_and_its_stages():
    model = estimator(0.5, configuration="ladder").fit(DATA, TARGET)
    hidden = model.transform(DATA)
    scaled = model.network_.outputs.transform(TARGET[:, np.newaxis])
    for nodes, stage in enumerate(model.staged_predict(DATA), start=1):
        expected = Ridge(alpha=0.5, fit_intercept=False).fit(hidden[:, :nodes], scaled).predict(hidden[:, :nodes])
        expected = model.network_.outputs.inverse_transform(expected.reshape(-1, 1))[:, 0]
        np.testing.assert_allclose(stage, expected, rtol=1e-6)
    np.testing.assert_allclose(stage, model.predict(DATA), rtol=1e-9)


def test_more_alpha_means_smaller_output_weights_and_the_same_nodes():
    models = [estimator(alpha).fit(DATA, TARGET) for alpha in (0, 1e-3, 1.0)]
    sizes = [np.linalg.norm(model.network_.output_weights) for model in models]
    assert sizes[0] > sizes[1] > sizes[2]
    np.testing.assert_array_equal(models[0].network_.weights, models[2].network_.weights)


def test_the_default_is_cross_validation_and_the_paper_has_none():
    default, asked = (estimator(alpha).fit(DATA, TARGET) for alpha in ("auto", "gcv"))
    np.testing.assert_array_equal(default.network_.output_weights, asked.network_.output_weights)
    paper, plain = (estimator(alpha, configuration="ladder").fit(DATA, TARGET) for alpha in ("auto", 0))
    np.testing.assert_array_equal(paper.network_.output_weights, plain.network_.output_weights)


@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II"])
def test_other_rules_do_without(algorithm):
    automatic, zero = (estimator(alpha, algorithm=algorithm).fit(DATA, TARGET).network_ for alpha in ("auto", 0))
    np.testing.assert_array_equal(automatic.output_weights, zero.output_weights)


@pytest.mark.parametrize("configuration", ["ladder", "polished"])
@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II"])
def test_what_other_rules_evaluate_is_penalised_wherever_the_rows_are(algorithm, configuration):
    def model(alpha=0.5, **others):
        return estimator(alpha, algorithm=algorithm, window=4, configuration=configuration, **others)

    both = np.column_stack([TARGET, DATA[:, 2] ** 2])
    fitted = model().fit(DATA, both)
    assert fitted.n_nodes_ == 15
    *_, last = fitted.staged_predict(DATA)
    np.testing.assert_allclose(last, fitted.predict(DATA), atol=1e-9)
    unbounded = replace(fitted.network_, bounds=None).predict(DATA)
    rmse = np.sqrt(np.mean((unbounded - both) ** 2))
    assert fitted.history_["train_rmse"][-1] == pytest.approx(rmse, rel=1e-9)
    with dask.config.set(scheduler="synchronous"):
        others = [
            model().fit(Chunks(DATA, both, memory_limit=1000)),
            model().fit(da.from_array(DATA, chunks=(50, 3)), da.from_array(both, chunks=(50, 2))),
            model(warm_start=True).set_params(max_nodes=7).fit(DATA, both).set_params(max_nodes=15).fit(DATA, both),
        ]
    for other in others:
        np.testing.assert_array_equal(other.predict(DATA), fitted.predict(DATA))
    sizes = [np.linalg.norm(model(alpha).fit(DATA, both).network_.output_weights) for alpha in (0, 0.5, 50.0)]
    # Nodes differ, too, so that a weak penalty need not decrease the norm.
    assert min(sizes[:2]) > sizes[2]


@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II"])
def test_rows_that_join_a_network_of_other_rules_are_penalised(algorithm, tmp_path):
    """All output weights then solve the ridge of all rows, also after the model was saved."""
    fitted = estimator(0.5, algorithm=algorithm, configuration="ladder").fit(DATA[:80], TARGET[:80])
    save_model(fitted, tmp_path / "model.scn")
    for model in (fitted, load_model(tmp_path / "model.scn")):
        model.partial_fit(DATA[80:], TARGET[80:])
        hidden, scaled = model.transform(DATA), model.network_.outputs.transform(TARGET[:, np.newaxis])
        expected = Ridge(alpha=0.5, fit_intercept=False).fit(hidden, scaled).predict(hidden)
        expected = model.network_.outputs.inverse_transform(expected.reshape(-1, 1))[:, 0]
        np.testing.assert_allclose(model.predict(DATA), expected, rtol=1e-6)


def test_left_out_rows_of_a_regularised_network():
    """Probabilities are calibrated on outputs that were regularised as well."""
    labels = (TARGET > 0.8).astype(int)
    for alpha in (0, 10.0):
        model = SCNClassifier(alpha=alpha, max_nodes=15, early_stopping=False, random_state=0).fit(DATA, labels)
        probabilities = model.predict_proba(DATA)[:, 1]
        assert abs(probabilities.mean() - labels.mean()) < 0.05
        assert np.mean((probabilities - labels) ** 2) < 0.12
