"""What a page says about models with a loss of their own."""

import numpy as np
import pandas as pd
import pytest

from skscn import SCNEnsembleRegressor, SCNRegressor
from skscn.words import percent

pytestmark = pytest.mark.slow

HOSTILE = '<b>name</b> & "quotes"'


@pytest.fixture(scope="module")
def rows(diabetes):
    """Rows of which the first 30 are outliers."""
    X, y = diabetes
    y = y.astype(float)
    y[:30] += np.arange(30.0, 0.0, -1.0) * 1000.0
    return X, y


def member(loss):
    return SCNRegressor(loss=loss, max_nodes=4, early_stopping=True, random_state=0)


@pytest.mark.parametrize(
    "model",
    [member("welsch"), SCNEnsembleRegressor(member("bisquare"), n_members=2, random_state=0)],
    ids=["one", "two"],
)
def test_outliers_are_counted_marked_and_listed(model, rows, report):
    X, y = rows
    page = report(model.fit(X, y), X, y.rename(HOSTILE), row_numbers=np.arange(100, 100 + len(y)))
    name = "bisquare" if hasattr(model, "members_") else "welsch"
    assert (
        f"rows look like outliers (weight below 0.2 under the loss {name}). The errors on this page include them."
        in (page.text)
    )
    assert "Half of the predictions are off by less than" in page.text
    assert "outliers are marked by crosses; they are not part of the histogram." in page.text
    assert f"Loss {name}; predictions estimate the centre of the target" in page.text
    table = page.text.partition("Rows that look like outliers Rows with")[2].partition("Feature importance")[0]
    assert "the 20 of the smallest weight, of" in table
    assert f"row {HOSTILE} predicted weight 100 30," in table
    assert table.count(" 0.000 ") == 20
    assert "b" not in {tag for tag, _ in page.elements}


def test_without_outliers_that_is_said(rows, report):
    X, y = rows
    model = member("welsch").fit(X, y)
    text = report(model, X, model.predict(X)).text
    assert "No row looks like an outlier (weight below 0.2 under the loss welsch)." in text
    assert "Rows that look like outliers" not in text


def test_one_outlier(rows, report):
    X, y = rows
    model = member("huber").fit(X, y)
    text = report(model, X, model.predict(X) + np.where(np.arange(len(y)) == 7, 1e5, 0.0)).text
    assert (
        "1 row looks like an outlier (weight below 0.2 under the loss huber). The errors on this page include it."
        in text
    )
    assert "1 outlier is marked by a cross" in text
    assert "row the target predicted weight 8 1" in text


def test_several_outputs(rows, report):
    X, y = rows
    Y = pd.DataFrame({"p": y, "q": -y, "r": X["bmi"], "s": y})
    text = report(member("welsch").fit(X, Y), X, Y).text
    assert "row p predicted q predicted r predicted weight 1 30," in text


@pytest.mark.parametrize("several", [False, True])
def test_a_quantile_is_not_judged_by_r2(several, diabetes, report):
    X, y = diabetes
    Y = pd.DataFrame({"p": y, "q": 2.0 * y}) if several else y.rename("p")
    model = SCNRegressor(loss="quantile", quantile=0.9, max_nodes=4, random_state=0).fit(X, Y)
    text = report(model, X, Y).text
    below = np.mean(y <= model.predict(X).reshape(len(y), -1)[:, 0])
    assert f"{percent(below)} of the true values of p".replace("\N{NO-BREAK SPACE}", " ") in text
    assert "below the predictions, which estimate the 0.9 quantile: it should be 90" in text
    assert "The baseline always predicts the 0.9 quantile." in text
    assert "Always predicting the 0.9 quantile of these rows would have a pinball loss of" in text
    assert "of the variance" not in text
    assert "Loss quantile; predictions estimate the 0.9 quantile" in text


@pytest.mark.parametrize(
    ("loss", "words"),
    [("squared", "the mean"), ("absolute", "the median"), ("poisson", "the mean of a count or a rate")],
)
def test_other_losses_are_stated(loss, words, diabetes, report):
    X, y = diabetes
    text = report(member(loss).fit(X, y), X, y).text
    assert f"Loss {loss}; predictions estimate {words}" in text
    assert "outlier" not in text
    assert ("The errors in these plots are in units of" in text) == (loss == "squared")


def test_each_row_has_a_number(diabetes, report):
    X, y = diabetes
    with pytest.raises(ValueError, match="row_numbers must have one number"):
        report(member("squared").fit(X, y), X, y, row_numbers=[1, 2])
