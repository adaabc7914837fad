import numpy as np
import pytest
from sklearn.inspection import partial_dependence

from skscn import SCNRegressor
from skscn.report._influence import dependences, importances
from skscn.report._subject import open_subject


@pytest.fixture(scope="module")
def subject():
    """The first input matters most, the third not at all; the last two are a category that is often neither."""
    rng = np.random.default_rng(0)
    category = np.eye(3)[rng.integers(3, size=250)][:, :2]
    X = np.column_stack([rng.normal(size=(250, 3)), category])
    y = 3.0 * X[:, 0] + X[:, 1] + 4.0 * category[:, 0]
    model = SCNRegressor(max_nodes=5, random_state=0).fit(X, y)
    return open_subject(model, X, y, ["a", "b", "c", "d1", "d2"], {"d": [3, 4]})


def test_the_most_important_input_is_first(subject):
    found = importances(subject)
    assert [importance.name for importance in found] == ["a", "d", "b", "c"]
    assert all(importance.low <= importance.mean <= importance.high for importance in found)


def test_dependence_is_scikit_learns_partial_dependence(subject):
    first = dependences(subject, importances(subject))[0]
    theirs = partial_dependence(
        subject.estimator, subject.sample_rows, [0], percentiles=(0.01, 0.99), grid_resolution=30, kind="average"
    )
    ours = np.interp(theirs["grid_values"][0], first.values, first.responses[:, 0])
    np.testing.assert_allclose(ours[1:-1], theirs["average"][0][1:-1], atol=0.02)


def test_a_category_is_set_in_all_its_columns(subject):
    (category,) = [d for d in dependences(subject, importances(subject)) if d.categorical]
    assert (category.name, category.values) == ("d", ["d1", "d2"])
    assert np.diff(category.responses[:, 0]) == pytest.approx(-4.0, abs=0.1)
