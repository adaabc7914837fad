import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LinearRegression

from skscn import RecurrentSCNRegressor, SCNClassifier, SCNEnsembleRegressor, SCNRegressor, TableModel, load_model
from skscn.plot import EffectDisplay

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 3))
Y = 3.0 * X[:, 0] ** 2 + X[:, 1] * X[:, 2]
MODEL = SCNRegressor(max_nodes=15, random_state=0).fit(X, Y)


def draw(*args, **kwargs):
    """Drawing is part of the test: labels and colours are put together only then."""
    figure = Figure()
    display = EffectDisplay.from_estimator(*args, **kwargs, ax=figure.subplots())
    figure.canvas.draw()
    return display


@pytest.fixture(scope="module")
def table():
    frame = pd.DataFrame({"size": X[:, 0], "old": X[:, 1] > 0.5, "town": np.where(X[:, 2] < 0.7, "Oslo", "Rome")})
    frame["day"] = pd.Timestamp("2025-01-01 06:00") + pd.to_timedelta(np.arange(200) * 29.0, "h")
    rent = 2.0 * X[:, 0] + (frame["town"] == "Oslo") - 2.0 * frame["old"] + 0.01 * np.arange(200)
    frame.loc[::11, "size"] = np.nan
    return frame.assign(rent=rent.round(3)).sample(frac=1.0, random_state=0)


@pytest.fixture(scope="module")
def model(table):
    parameters = {"max_nodes": 10, "n_members": 2}
    return TableModel("rent", time=False, folds=0, monotone={"size": 1}, parameters=parameters).fit(table)


@pytest.mark.parametrize("features", [0, (0, 1)])
def test_effects_are_scikit_learns_partial_dependence(features):
    theirs = partial_dependence(MODEL, X, [features], grid_resolution=8, kind="average")
    grids = theirs["grid_values"]
    ours = draw(MODEL, X, features, values=grids[0] if features == 0 else grids).effect
    expected = theirs["average"][0]
    np.testing.assert_allclose(ours.responses[:, 0] if features == 0 else ours.responses.T, expected, atol=1e-9)


def test_those_of_classes_too():
    classes = np.digitize(X[:, 0], [0.3, 0.7])
    model = SCNClassifier(max_nodes=5, random_state=0).fit(X, classes)
    theirs = partial_dependence(model, X, [0], grid_resolution=9, kind="average", method="brute")
    display = draw(model, X, 0, values=theirs["grid_values"][0])
    np.testing.assert_allclose(display.effect.responses.T, theirs["average"], atol=1e-9)
    assert [line.get_label() for line in display.lines_] == ["0", "1", "2"]
    assert display.band_ is None
    two = draw(SCNClassifier(max_nodes=5, random_state=0).fit(X, classes > 0), X, 0)
    assert two.unit == "mean probability of True"
    assert two.effect.responses.shape[1] == 1


def test_the_band_is_how_much_the_effect_depends_on_other_inputs():
    def width(feature, model):
        effect = draw(model, X, feature).effect
        return np.ptp(effect.limits, axis=1).max()

    assert width(0, LinearRegression().fit(X, Y)) < 1e-9
    # x₁ x₂: the curve of a row has the slope x₂, of which 90 % are within 0.9, and at the end half of that is left.
    assert width(1, MODEL) == pytest.approx(0.45, abs=0.1)
    assert width(0, MODEL) < 0.1


def test_the_columns_of_a_table_are_set_as_they_are(model, table):
    found = {name: draw(model, table, name) for name in table.columns[:4]}
    effects = {name: display.effect for name, display in found.items()}
    kinds = {"size": "number", "old": "category", "town": "category", "day": "date"}
    assert {name: effect.kind for name, effect in effects.items()} == kinds
    assert effects["town"].values == ["Oslo", "Rome"]
    assert np.diff(effects["town"].responses[:, 0])[0] == pytest.approx(-1.0, abs=0.2)
    falls = dict(zip(effects["old"].values, effects["old"].responses[:, 0], strict=True))
    assert falls["True"] - falls["False"] == pytest.approx(-2.0, abs=0.2)
    # Dates are whole weeks apart.
    assert {step.astype(int) for step in np.diff(effects["day"].values) % np.timedelta64(7, "D")} == {0}
    assert np.ptp(effects["day"].responses) == pytest.approx(2.0, abs=0.3)
    np.testing.assert_array_equal(np.sort(effects["size"].data), np.sort(table["size"].dropna()))
    other = draw(model, pl.from_pandas(table), "town").effect
    np.testing.assert_allclose(other.responses, effects["town"].responses)
    towns = table[["town"]]
    single = SCNRegressor(max_nodes=5, random_state=0).fit(towns, table["rent"])
    assert draw(single, towns, 0).effect.values == ["Oslo", "Rome"]


def test_text_is_what_the_model_reads_it_as(table):
    """Decimal commas, units and dates in text; numbers that are categories to the model."""
    days = table["day"].dt.strftime("%d.%m.%Y %H:%M")
    size = table["size"].map(lambda size: "n/a" if np.isnan(size) else f"{size:.3f} km".replace(".", ","))
    text = table.assign(size=size, day=days).astype({"rent": float})
    model = TableModel("rent", time=False, folds=0, parameters={"max_nodes": 10, "n_members": 2}).fit(text)
    plain = TableModel("rent", time=False, folds=0, parameters={"max_nodes": 10, "n_members": 2}).fit(
        table.assign(size=table["size"].round(3), day=table["day"].dt.floor("min"))
    )
    rows = table.assign(size=table["size"].round(3))
    for name, kind in (("size", "number"), ("day", "date"), ("town", "category")):
        effect, expected = (draw(*pair, name).effect for pair in ((model, text), (plain, rows)))
        assert effect.kind == kind
        assert list(effect.values) == list(expected.values)
        np.testing.assert_allclose(effect.responses, expected.responses, rtol=1e-6)
    single = SCNRegressor(max_nodes=5, random_state=0).fit(text[["size", "town"]], text["rent"])
    assert draw(single, text[["size", "town"]], "size").effect.kind == "number"
    rooms = text[["town"]].assign(rooms=np.arange(200) % 3)
    single = SCNRegressor(max_nodes=5, categorical_features=["rooms"], random_state=0).fit(rooms, text["rent"])
    assert draw(single, rooms, "rooms").effect.values == ["0", "1", "2"]


def test_a_monotone_model_is_seen_to_be_one(model, table, tmp_path):
    model.save(tmp_path / "m.scn")
    for each in (model, load_model(tmp_path / "m.scn")):
        display = draw(each, table, "size")
        assert display.ax_.get_title(loc="right") == "↗ never decreases"
        assert (np.diff(display.effect.responses[:, 0]) >= 0.0).all()
        assert draw(each, table, "day").effect.sign == 0
    signs = [0, -1, 1]
    single = SCNRegressor(monotone=signs, max_nodes=5, random_state=0)
    ensemble = SCNEnsembleRegressor(single, n_members=3, max_features=0.7, random_state=0)
    for each in (single, ensemble):
        each.fit(X, Y)
        assert [draw(each, X, feature).effect.sign for feature in range(3)] == signs
    pair = draw(single, X, (1, 2))
    assert pair.effect.signs == (-1, 1)
    assert pair.ax_.get_xlabel() == "x1 (↘ never increases)"


def test_bars_below_are_the_data():
    display = draw(MODEL, X, 0)
    low, high = display.ax_.get_ylim()
    assert low < display.effect.limits.min() - 0.1 * (high - low)
    heights = [bar.get_height() for bar in display.ax_.patches]
    counts, _ = np.histogram(X[:, 0], len(heights), display.ax_.get_xlim())
    np.testing.assert_allclose(heights, 0.12 * counts / counts.max())


@pytest.mark.parametrize(
    ("features", "options", "sentence"),
    [
        ("sise", {}, "did you mean 'size'"),
        (9, {}, "There is no column 9; there are 5 columns"),
        ("rent", {}, "There is no input 'rent'; the inputs are size, old, town, day"),
        (4, {}, "There is no input 'rent'"),
        (("size", "town"), {}, "drawn for numbers, and 'town' is text"),
        (("size", "size"), {}, "one column, or two different ones"),
        ("town", {"values": [1.0]}, "values are for numeric columns, but 'town' is text"),
    ],
)
def test_what_is_refused(model, table, features, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw(model, table, features, **options)


def test_models_that_depend_on_earlier_rows_are_refused():
    recurrent = RecurrentSCNRegressor(max_nodes=3, max_candidates=20, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="depends on earlier rows; write a report of it"):
        draw(recurrent, X, 0)
