from datetime import date
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence

from skscn import SCNRegressor, TableModel
from skscn.report import table_data, write_report
from skscn.report._data import open_data
from skscn.report._influence import dependences, importances, together
from skscn.report._pictures import dependence_picture
from skscn.report._summary import input_columns
from skscn.tables import TableEncoder


@pytest.fixture(scope="module")
def data():
    """The first input matters most, the third not at all; the last two are a category that is often neither."""
    rng = np.random.default_rng(0)
    category = np.eye(3)[rng.integers(3, size=250)][:, :2]
    X = np.column_stack([rng.normal(size=(250, 3)), category])
    y = 3.0 * X[:, 0] + X[:, 1] + 4.0 * category[:, 0]
    model = SCNRegressor(max_nodes=5, random_state=0).fit(X, y)
    return open_data(model, X, y, ["a", "b", "c", "d1", "d2"], {"d": [3, 4]})


def test_the_most_important_input_is_first(data):
    found = importances(data)
    assert [importance.name for importance in found] == ["a", "d", "b", "c"]
    assert all(importance.low <= importance.mean <= importance.high for importance in found)


def test_dependence_is_scikit_learns_partial_dependence(data):
    first = dependences(data, importances(data))[0]
    theirs = partial_dependence(
        data.estimator, data.sample_rows, [0], percentiles=(0.01, 0.99), grid_resolution=30, kind="average"
    )
    ours = np.interp(theirs["grid_values"][0], first.values, first.responses[:, 0])
    np.testing.assert_allclose(ours[1:-1], theirs["average"][0][1:-1], atol=0.02)


def test_the_effect_of_two_inputs_is_that_of_each_where_they_do_not_interact(data):
    pair, (first, *_) = together(data, importances(data)), dependences(data, importances(data))
    assert pair.names == ("a", "b")
    assert np.ptp(np.diff(pair.responses, axis=1), axis=0).max() < 0.1
    assert pair.responses[0].argmin() == first.responses.argmin() == 0
    np.testing.assert_array_equal(np.ptp(first.data), np.ptp(data.sample_rows[:, 0]))


def test_the_page_says_where_a_model_is_monotone(data, tmp_path):
    model = SCNRegressor(max_nodes=5, monotone=[1, 0, -1, 0, 0], random_state=0).fit(data.X, data.y[:, 0])
    names = {"feature_names": ["a", "b", "c", "d1", "d2"], "groups": {"d": [3, 4]}}
    write_report(model, data.X, data.y[:, 0], tmp_path / "page.html", **names)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("↗ never decreases") == 2
    assert "No prediction increases with this input." in page
    assert "a (horizontal) and b (vertical) together" in page


def test_a_category_is_set_in_all_its_columns(data):
    (category,) = [d for d in dependences(data, importances(data)) if d.kind == "category"]
    assert (category.name, category.values) == ("d", ["d1", "d2"])
    assert np.diff(category.responses[:, 0]) == pytest.approx(-4.0, abs=0.1)


@pytest.fixture(scope="module")
def series():
    """Hourly rows of eight weeks: high in the afternoon, and on Mondays."""
    table = pd.DataFrame({"when": pd.date_range("2025-01-06", periods=24 * 56, freq="h")})
    hours, days = table["when"].dt.hour, table["when"].dt.day_of_week
    y = (-np.cos(2.0 * np.pi * (hours - 3) / 24.0) + np.cos(2.0 * np.pi * days / 7.0)).to_numpy()
    encoder = TableEncoder(time="when").fit(table)
    X = encoder.transform(table)
    model = SCNRegressor(max_nodes=20, validation="last", random_state=0).fit(X, y)
    return open_data(model, X, y, encoder=encoder)


def test_the_time_of_the_rows_has_a_curve_for_each_cycle(series):
    week, day = sorted(dependences(series, importances(series)), key=lambda found: found.name)
    assert (day.name, week.name) == ("when: hour of the day", "when: days since Monday")
    assert day.values[day.responses[:, 0].argmax()] == pytest.approx(15.0, abs=1.5)
    assert week.values[week.responses[:, 0].argmax()] % 7 == pytest.approx(0.5, abs=0.6)
    assert day.responses[0] == pytest.approx(day.responses[-1])


def test_the_time_of_the_rows_is_described_by_its_cycles(series):
    (column,) = input_columns(series)
    assert column.note == "not an input itself, only its place in the week and day"


@pytest.fixture(scope="module")
def encoded():
    """A table of all kinds of columns, with missing values; what was missing, early or far took long."""
    rng = np.random.default_rng(0)
    days = rng.uniform(0.0, 200.0, 400)
    table = pd.DataFrame(
        {
            "km": np.where(rng.random(400) < 0.1, np.nan, rng.uniform(1.0, 9.0, 400)),
            "day": pd.Timestamp("2025-01-01") + pd.to_timedelta(days, "D"),
            "city": rng.choice(["Brno", "Praha"], 400),
            "express": rng.random(400) < 0.5,
        }
    )
    y = 3.0 * table["km"].fillna(20.0) + 0.1 * days + 2.0 * (table["city"] == "Praha") - 4.0 * table["express"]
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    model = SCNRegressor(max_nodes=10, random_state=0).fit(X, y)
    return open_data(model, X, y.to_numpy(), encoder=encoder)


def test_dependences_are_those_of_the_columns_of_the_table(encoded):
    found = {dependence.name: dependence for dependence in dependences(encoded, importances(encoded))}
    assert {name: dependence.kind for name, dependence in found.items()} == {
        "km": "number",
        "day": "date",
        "city": "category",
        "express": "category",
    }
    effects = {name: np.ptp(dependence.responses) for name, dependence in found.items()}
    kilometres, days = np.ptp(found["km"].values), (found["day"].values[-1] - found["day"].values[0]).days
    expected = {"km": 3.0 * kilometres, "day": 0.1 * days, "city": 2.0, "express": 4.0}
    assert effects == pytest.approx(expected, abs=0.1)
    assert found["city"].values == ["Brno", "Praha"]
    assert found["express"].values == ["false", "true"]


def test_a_value_is_not_marked_as_missing_when_it_is_set(encoded):
    """Rows that lack a number took 60, whatever the number that stands in for it."""
    (km,) = [dependence for dependence in dependences(encoded, importances(encoded)) if dependence.name == "km"]
    others = encoded.y.mean() - 3.0 * np.where(encoded.X[:, 1] == 1.0, 20.0, encoded.X[:, 0]).mean()
    np.testing.assert_allclose(km.responses[:, 0], 3.0 * np.array(km.values) + others, atol=0.5)


def test_dates_are_moved_by_weeks(encoded):
    (day,) = [dependence for dependence in dependences(encoded, importances(encoded)) if dependence.name == "day"]
    steps = {(late - early).days % 7 for early, late in pairwise(day.values)}
    assert steps == {0}
    assert date(2024, 12, 20) < day.values[0] <= date(2025, 1, 1) < day.values[-1] < date(2025, 7, 21)
    assert (np.diff(day.responses[:, 0]) > 0.0).all()


@pytest.mark.parametrize("span", [0.5, 3.0, 20.0, 4000.0])
def test_dates_of_any_span_can_be_drawn(span):
    rng = np.random.default_rng(0)
    days = rng.uniform(0.0, span, 60)
    table = pd.DataFrame({"day": pd.Timestamp("2025-01-01 06:00") + pd.to_timedelta(days, "D")})
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table)
    data = open_data(SCNRegressor(max_nodes=2, random_state=0).fit(X, days), X, days, encoder=encoder)
    (dependence,) = dependences(data, importances(data))
    drawn = dependence_picture(dependence, "mean prediction", {0: "days"}, (0.0, span))
    assert f">{dependence.values[0]}<" in drawn.svg
    assert f">{dependence.values[-1]}<" in drawn.svg


@pytest.mark.parametrize("kind", ["date", "time"])
def test_dates_and_times_of_day_may_be_missing(kind):
    """Rows without a value took 50; a moment that is set is not marked as missing."""
    rng = np.random.default_rng(0)
    hours, missing = rng.uniform(0.0, 24.0, 200), rng.random(200) < 0.2
    moments = pd.Timestamp("2025-01-01") + pd.to_timedelta(hours * (7.0 if kind == "date" else 1.0), "h")
    column = pd.Series(moments if kind == "date" else moments.time).mask(missing, None)
    table = pd.DataFrame({"when": column, "size": rng.random(200), "y": np.where(missing, 50.0, 10.0)})
    model = TableModel("y", task="regression", estimator="network", folds=0, parameters={"max_nodes": 5}).fit(table)
    data = table_data(model, table)
    (found,) = [dependence for dependence in dependences(data, importances(data)) if dependence.name == "when"]
    assert found.responses[:, 0] == pytest.approx(10.0, abs=0.5)
