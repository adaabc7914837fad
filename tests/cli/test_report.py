"""The report of the command line: rows of training, and rows over time."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from skscn import SCNRegressor, save_model
from skscn.tables import TableEncoder, Target
from skscn.tables._columns import read_times
from skscn.tables._text import arrow


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    """A model file that names its column of time, and the table that follows."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"when": pd.date_range("2025-03-01 06:00", periods=150, freq="10min")})
    table["flow"] = rng.normal(size=150)
    table["y"] = table["flow"] + 0.1 * rng.normal(size=150)
    folder = tmp_path_factory.mktemp("plant")
    encoder = TableEncoder().fit(table[["flow"]][:100])
    network = SCNRegressor(max_nodes=2, random_state=0).fit(encoder.transform(table[["flow"]][:100]), table["y"][:100])
    notes = {"target": Target("y", "number").to_json(), "time": "when"}
    save_model(Pipeline([("table", encoder), ("model", network)]), folder / "m.scn", notes=notes)
    return folder, table[100:]


@pytest.mark.parametrize("format", [None, "%d.%m.%Y %H:%M"])
def test_rows_over_time(skscn, plant, format):
    folder, table = plant
    data, page = folder / "next.csv", folder / "page.html"
    table.sample(frac=1.0, random_state=0).to_csv(data, index=False, date_format=format)
    skscn("report", folder / "m.scn", data, "-o", page)
    text = page.read_text(encoding="utf-8")
    assert "True and predicted values over time" in text
    assert "50 rows from 2025-03-01 22:40 to 2025-03-02 06:50." in text


@pytest.mark.parametrize("change", [lambda table: table.drop(columns="when"), lambda table: table.assign(when="soon")])
def test_rows_whose_time_is_not_known(skscn, plant, change):
    folder, table = plant
    data, page = folder / "next.csv", folder / "page.html"
    change(table).to_csv(data, index=False)
    skscn("report", folder / "m.scn", data, "-o", page)
    assert "over time" not in page.read_text(encoding="utf-8")


def test_times_of_all_types():
    pa = arrow()
    moments = np.array(["2025-03-01T06:00", "NaT", "2025-03-02T07:30"], dtype="datetime64[s]")
    for values in (pa.array(moments), pa.array(moments).cast(pa.timestamp("ns", "UTC"))):
        np.testing.assert_array_equal(read_times(pa.chunked_array([values])), moments)
    dates = read_times(pa.chunked_array([pa.array(moments.astype("datetime64[D]"))]))
    np.testing.assert_array_equal(dates, moments.astype("datetime64[D]"))
    assert read_times(pa.chunked_array([[1.5, 2.5]])) is None


def test_a_report_on_the_rows_of_training_says_so(skscn, houses_model, houses, tmp_path):
    done = skscn("report", houses_model, houses, "-o", tmp_path / "page.html")
    assert "The model was trained on the rows of houses.csv" in done.stderr
    assert "The model was trained on these rows: expect larger" in (tmp_path / "page.html").read_text(encoding="utf-8")
