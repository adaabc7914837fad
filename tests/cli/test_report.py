"""The report of the command line: rows of training, and rows over time."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from skscn import SCNRegressor, save_model
from skscn.tables import TableEncoder, Target


@pytest.fixture(scope="module", params=["%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M"])
def plant(request, tmp_path_factory):
    """A model of a series, and the rows that follow those of training, in another order."""
    rng = np.random.default_rng(0)
    moments = pd.date_range("2025-03-01 06:00", periods=150, freq="10min")
    table = pd.DataFrame({"when": moments.strftime(request.param), "flow": rng.normal(size=150)})
    table["y"] = table["flow"] + 0.1 * rng.normal(size=150)
    folder = tmp_path_factory.mktemp("plant")
    inputs, target = table[["when", "flow"]][:100], table["y"][:100]
    encoder = TableEncoder(time="when").fit(inputs)
    network = SCNRegressor(max_nodes=2, random_state=0).fit(encoder.transform(inputs), target)
    notes = {"target": Target("y", "number").to_json(), "time": "when"}
    save_model(Pipeline([("table", encoder), ("model", network)]), folder / "m.scn", notes={"skscn": notes})
    return folder, table[100:].sample(frac=1.0, random_state=0)


def test_rows_over_time(skscn, plant):
    folder, table = plant
    data, page = folder / "next.csv", folder / "page.html"
    table.to_csv(data, index=False)
    skscn("report", folder / "m.scn", data, "-o", page)
    text = page.read_text(encoding="utf-8")
    assert "True and predicted values over time" in text
    assert "50 rows from 2025-03-01 22:40 to 2025-03-02 06:50." in text


def test_rows_whose_time_is_not_known(skscn, plant):
    folder, table = plant
    data, page = folder / "next.csv", folder / "page.html"
    table.drop(columns="when").to_csv(data, index=False)
    skscn("report", folder / "m.scn", data, "-o", page)
    assert "over time" not in page.read_text(encoding="utf-8")


def test_a_report_on_the_rows_of_training_says_so(skscn, houses_model, houses, tmp_path):
    done = skscn("report", houses_model, houses, "-o", tmp_path / "page.html")
    assert "The model was trained on the rows of houses.csv" in done.stderr
    assert "The model was trained on these rows: expect larger" in (tmp_path / "page.html").read_text(encoding="utf-8")
