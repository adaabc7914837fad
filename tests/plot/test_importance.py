import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.inspection import permutation_importance as sklearn_importance
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skscn.plot import ImportanceDisplay
from skscn.plot.importance import permutation_importance


@pytest.fixture(scope="module")
def table():
    """Rows of which y uses the first column three times as much as the second, and the third not at all."""
    X = np.random.default_rng(0).normal(size=(2000, 3))
    return X, 3.0 * X[:, 0] + X[:, 1]


def test_it_agrees_with_scikit_learn_on_single_columns(table):
    X, y = table
    model = LinearRegression().fit(X, y)
    ours = permutation_importance(model, X, y, [[0], [1], [2]], n_repeats=10, random_state=0)
    theirs = sklearn_importance(model, X, y, n_repeats=10, random_state=1).importances
    np.testing.assert_allclose(ours.mean(axis=1), theirs.mean(axis=1), atol=0.05)
    # Shuffling makes two independent draws of it: twice the share of the variance is lost.
    np.testing.assert_allclose(ours.mean(axis=1), [1.8, 0.2, 0.0], atol=0.05)


def test_columns_of_a_group_are_shuffled_together(table):
    """A model that only looks at whether two columns agree does not notice when both are shuffled by one order."""
    X, y = table
    X = np.column_stack([X[:, 0], X[:, 0], X[:, 1]])

    class Difference:
        def fit(self, X, y):
            return self

        def score(self, X, y):
            return -np.abs(X[:, 0] - X[:, 1]).max()

    together, apart = ([[0, 1]], [[0], [1]])
    assert permutation_importance(Difference(), X, y, together).max() == 0.0
    assert permutation_importance(Difference(), X, y, apart).min() > 1.0


def test_rows_in_order_of_time_are_moved_along_it():
    """A model that differentiates sees no jump in a slow input but where its end meets its beginning."""
    X = np.column_stack([np.linspace(0.0, 1.0, 500)] * 2)

    class Jumps:
        def fit(self, X, y):
            return self

        def score(self, X, y):
            return -np.sum(np.abs(np.diff(X[:, 0])) > 0.01)

    found = permutation_importance(Jumps(), X, X[:, 0], [[0], [1]], n_repeats=20, ordered=True, random_state=0)
    np.testing.assert_array_equal(found, [[1] * 20, [0] * 20])


def test_most_important_first_and_names_as_they_are(table, ax):
    X, y = table
    display = ImportanceDisplay.from_estimator(
        LinearRegression().fit(X, y),
        X,
        y,
        groups={"unused": [2], r"$\frac{a}": [1], "<b>": [0]},
        max_shown=2,
        random_state=0,
        ax=ax,
    )
    np.testing.assert_array_equal(display.order, [2, 1, 0])
    assert [label.get_text() for label in ax.get_yticklabels()] == [r"$\frac{a}", "<b>"]
    assert [bar.get_width() for bar in display.bars_] == sorted(display.importances.mean(axis=1))[1:]


def test_source_columns_of_a_pipeline_on_a_frame(ax):
    rng = np.random.default_rng(0)
    colour = pd.Categorical(rng.choice(["red", "green", "blue"], 300))
    X = pd.DataFrame({"noise": rng.normal(size=300), "colour": colour, "size": rng.normal(size=300)})
    y = np.where(colour == "red", 5.0, 0.0) + X["size"]
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough"))
    model.steps.append(("regression", LinearRegression()))
    model.fit(X, y)
    display = ImportanceDisplay.from_estimator(model, X, y, random_state=0, ax=ax)
    assert [display.names[i] for i in display.order] == ["colour", "size", "noise"]
    assert X["colour"].dtype == "category"


def test_another_score(table, ax):
    X, y = table
    model = LinearRegression().fit(X, y)
    squared = ImportanceDisplay.from_estimator(
        model, X, y, scoring="neg_mean_squared_error", names=["a", "b", "c"], random_state=0, ax=ax
    )
    explained = permutation_importance(model, X, y, [[0], [1], [2]], random_state=0)
    assert r2_score(y, model.predict(X)) == pytest.approx(1.0)
    np.testing.assert_allclose(squared.importances, explained * y.var(), rtol=1e-9, atol=1e-9)
    assert squared.names == ["a", "b", "c"]
