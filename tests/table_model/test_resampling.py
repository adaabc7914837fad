"""Rows at irregular times: resampled in fit, predict and live, with the same values, and gaps that stay."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

from skscn import TableModel, load_model
from skscn.datasets import EXAMPLES

METHODS = ("mean", "last", "interpolated")


@pytest.fixture(scope="module")
def rows():
    """Rows of a plant at irregular times, with a gap, text and missing values."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(EXAMPLES["plant"](900, random_state=0))
    rows["time"] = pd.Timestamp("2026-03-01") + pd.to_timedelta(np.cumsum(rng.uniform(20, 160, 900)), unit="s")
    rows.loc[700:, "time"] += pd.Timedelta("3h")
    rows["state"] = np.where(rng.random(900) < 0.5, "on", "off")
    rows.loc[rng.random(900) < 0.05, "feed"] = np.nan
    return rows


def resampled(rows, method):
    """The same by pandas: independent truth."""
    frame = rows.set_index("time")
    steps = frame.resample("5min", closed="right", label="right")
    numbers = frame.columns.drop("state")
    found = steps[numbers].mean() if method == "mean" else steps[numbers].last()
    return found.assign(state=steps["state"].last())[steps.size() > 0].reset_index()


def options(method, **more):
    parameters = {"max_nodes": 6}
    return {"time": "time", "every": f"5min:{method}", "folds": 0, "parameters": parameters, **more}


@pytest.mark.parametrize("method", METHODS)
def test_resampled_as_pandas_does(rows, method):
    model = TableModel("quality", estimator="network", **options(method)).fit(rows)
    found = model.open(rows).read().to_pandas()
    if method != "interpolated":
        pd.testing.assert_frame_equal(found[rows.columns], resampled(rows, method)[rows.columns], check_dtype=False)
        return
    seconds = rows["time"].astype("datetime64[us]").astype(np.int64)
    ends = found["time"].astype("datetime64[us]").astype(np.int64)
    np.testing.assert_allclose(found["steam"], np.interp(ends, seconds, rows["steam"]))
    # Nothing is interpolated in the gap.
    assert found["time"].diff().max() > pd.Timedelta("2h50min")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["lags", "recurrent"])
def test_live_rows_are_resampled_as_tables_are(rows, kind, method, tmp_path):
    more = {"estimator": "network", "lags": [1, 2]} if kind == "lags" else {"estimator": "recurrent"}
    TableModel("quality", **options(method, **more)).fit(rows[:600]).save(tmp_path / "model.scn")
    model = load_model(tmp_path / "model.scn")
    later = rows[600:700].assign(quality=None)
    expected, live, found = model.predict(later), model.follow(learn=False), []
    for row in later.to_dict("records"):
        before, value = live.n_answered, None
        with suppress(ValueError):
            value = live.predict_one({**row, "time": str(row["time"])})
        found += [value] if live.n_answered > before else []
    # Up to a step of the last row, which is not complete, or several steps between two rows.
    np.testing.assert_allclose(found[:-2], expected[: len(found) - 2], rtol=1e-9)
    assert len(expected) - len(found) <= 1 or method == "interpolated"


def test_targets_of_a_step_that_is_not_complete_are_learnt_with_it(rows):
    model = TableModel("quality", **options("mean", estimator="network", lags=[1])).fit(rows[:600])
    live, given = model.follow(), [{**row, "time": str(row["time"])} for row in rows[600:640].to_dict("records")]
    for row in given:
        with suppress(ValueError):
            live.predict_one(row)
        live.learn_one(row, row["quality"])
    assert 20 < live.n_learnt < 40
    with pytest.raises(ValueError, match="rows must come in order of time"):
        live.predict_one(given[0])


def test_several_series(rows):
    both = pd.concat([rows[:400].assign(unit="a"), rows[400:].assign(unit="b")]).sample(frac=1.0, random_state=0)
    model = TableModel("quality", group="unit", **options("mean", estimator="network", lags=[1])).fit(both)
    found = model.open(both).read().to_pandas()
    for label, part in (("a", rows[:400]), ("b", rows[400:])):
        own = found[found["unit"] == label].reset_index(drop=True)
        expected = resampled(part, "mean")
        pd.testing.assert_frame_equal(own[expected.columns], expected, check_dtype=False)


@pytest.mark.parametrize(
    ("every", "time", "sentence"),
    [
        ("often", "time", "every must be a time and perhaps how values are combined"),
        ("0min", "time", "every must be a time"),
        ("5min", None, "every needs the times of the rows"),
        ("5min", "state", "cannot be the time of the rows"),
    ],
)
def test_what_cannot_be_resampled(rows, every, time, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableModel("quality", every=every, time=time, folds=0).fit(rows)
