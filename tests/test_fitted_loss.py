import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscn import SCNClassifier, SCNEnsembleRegressor, SCNRegressor, load_model, save_model
from skscn.fitted_loss import estimated, loss_of, row_weights
from skscn.losses import LOSSES, name_of

ROBUST = [name for name, loss in LOSSES.items() if loss.weighs]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 3))
    y = np.sin(5 * X[:, 0]) + X[:, 1] + rng.normal(0.0, 0.05, 150)
    y[:6] += 5.0
    return X, y


@pytest.mark.parametrize("loss", ROBUST)
def test_weights_are_those_of_training(rows, loss, tmp_path):
    model = SCNRegressor(loss=loss, max_nodes=6, random_state=0).fit(*rows)
    np.testing.assert_array_equal(row_weights(model, *rows), model.row_weights_)
    assert (model.row_weights_[:6] < 0.2).all()
    save_model(model, tmp_path / "m.scn")
    np.testing.assert_array_equal(row_weights(load_model(tmp_path / "m.scn"), *rows), model.row_weights_)


def test_an_ensemble_has_the_mean_of_its_members(rows):
    member = SCNRegressor(loss="welsch", max_nodes=4, early_stopping=True)
    model = SCNEnsembleRegressor(member, n_members=2, max_features=0.7, random_state=0).fit(*rows)
    X, y = rows
    members = [row_weights(member, X[:, used], y) for member, used in zip(model.members_, model.features_, strict=True)]
    np.testing.assert_array_equal(row_weights(model, X, y), np.mean(members, axis=0))


def test_a_pipeline_and_sparse_rows(rows):
    X, y = rows
    model = SCNRegressor(loss="huber", max_nodes=4, random_state=0)
    scaled = make_pipeline(StandardScaler(), model).fit(X, y)
    np.testing.assert_array_equal(row_weights(scaled, X, y), scaled[-1].row_weights_)
    alone = make_pipeline(SCNRegressor(loss="huber", max_nodes=4, random_state=0)).fit(X, y)
    np.testing.assert_allclose(row_weights(alone, sparse.csr_array(X), y), alone[-1].row_weights_)


def test_other_models_do_not_weigh_rows(rows):
    X, y = rows
    classifier = SCNClassifier(max_nodes=2, random_state=0).fit(X, y > 1.0)
    for model in (SCNRegressor(max_nodes=2).fit(X, y), LinearRegression().fit(X, y), classifier):
        assert row_weights(model, X, y) is None


def test_outputs_must_be_as_many_as_in_training(rows):
    X, y = rows
    model = SCNRegressor(loss="welsch", max_nodes=2, random_state=0).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="predicts 2 outputs; y has 1"):
        row_weights(model, X, y)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_has_its_name_and_words(name):
    loss = LOSSES[name].of(0.9)
    assert name_of(loss) == name
    assert estimated(loss).startswith("the ")


def test_words():
    assert estimated(LOSSES["quantile"].of(0.9)) == "the 0.9 quantile"
    assert estimated(LOSSES["absolute"].of(0.9)) == estimated(LOSSES["quantile"].of(0.5)) == "the median"
    assert loss_of(LinearRegression()) is None
