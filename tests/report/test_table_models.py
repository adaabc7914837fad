"""Reports about table models: a frame in Python gives the page that the program writes about the file."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from skscn import TableModel, assess, load_model
from skscn.cli.app import app
from skscn.report import table_data, write_report

RNG = np.random.default_rng(0)


def body(path):
    """The page without its title and the moment when it was written."""
    return path.read_text(encoding="utf-8").split("<main>")[1]


@pytest.fixture(scope="module")
def flats():
    """Independent rows, some of which lack an area or a rent."""
    table = pd.DataFrame({"area": RNG.uniform(20, 120, 240).round(1), "district": RNG.choice(["north", "south"], 240)})
    table["rent"] = (8 * table["area"] + 150 * (table["district"] == "south") + RNG.normal(0, 20, 240)).round()
    table.loc[::17, "area"] = np.nan
    table.loc[::25, "rent"] = np.nan
    return table


@pytest.fixture(scope="module")
def plant():
    """A series: the target follows the flow of the hour before."""
    flow = RNG.normal(size=400).cumsum().round(3)
    table = pd.DataFrame({"time": pd.date_range("2025-03-01", periods=400, freq="h"), "flow": flow})
    table["yield"] = np.r_[0.0, flow[:-1]].round(3) + RNG.normal(0, 0.1, 400).round(3)
    return table


@pytest.fixture(scope="module")
def network():
    return {"estimator": "network", "folds": 2, "parameters": {"max_nodes": 6}, "random_state": 0}


@pytest.fixture(scope="module")
def of_flats(flats, network):
    return TableModel("rent", **network).fit(flats[:160])


@pytest.fixture(scope="module")
def of_plant(plant, network):
    return TableModel("yield", time="time", lags=[1], **network).fit(plant[:300])


@pytest.mark.parametrize(("model", "rows", "cut"), [("of_flats", "flats", 160), ("of_plant", "plant", 300)])
def test_a_frame_gives_the_page_of_the_program(model, rows, cut, request, tmp_path):
    model, later = request.getfixturevalue(model), request.getfixturevalue(rows)[cut:]
    model.save(tmp_path / "m.scn")
    later.to_csv(tmp_path / "later.csv", index=False)
    done = CliRunner().invoke(
        app, ["report", str(tmp_path / "m.scn"), str(tmp_path / "later.csv"), "-o", str(tmp_path / "program.html")]
    )
    assert done.exit_code == 0, done.stderr
    for place, table in (("frame", later), ("file", tmp_path / "later.csv")):
        page = tmp_path / f"{place}.html"
        write_report(load_model(tmp_path / "m.scn"), table, page, data_name="later.csv")
        assert body(page) == body(tmp_path / "program.html")
    write_report(model, later, path=tmp_path / "unsaved.html", data_name="later.csv", model_path=tmp_path / "m.scn")
    assert body(tmp_path / "unsaved.html") == body(tmp_path / "program.html")


@pytest.mark.parametrize(("model", "rows", "cut"), [("of_flats", "flats", 160), ("of_plant", "plant", 300)])
def test_the_figures_are_those_of_the_assessment(model, rows, cut, request, tmp_path):
    from skscn.report._errors import measures

    model, later = request.getfixturevalue(model), request.getfixturevalue(rows)[cut:]
    assessment = assess(model, later)
    data = table_data(model, later)
    found = {measure.score: measure for measure in measures(data)[model.target]}
    assert data.n_rows == assessment.n_rows
    assert data.seen == assessment.share_seen
    for name, value in assessment.scores.items():
        assert found[name].value == pytest.approx(value)
        assert (found[name].low, found[name].high) == pytest.approx(assessment.limits[name])


def test_tests_that_are_not_confirmed_are_a_caution_of_the_assessment(of_plant, plant, tmp_path):
    later = plant[300:].assign(**{"yield": RNG.permutation(plant["yield"][300:])})
    (caution,) = [str(caution) for caution in assess(of_plant, later).cautions if caution.code == "unconfirmed"]
    write_report(of_plant, later, tmp_path / "page.html")
    assert caution.split(" Likely")[0] in re.sub("<[^>]*>", "", body(tmp_path / "page.html"))


def test_predictions_and_intervals_are_within_the_bounds(flats, network, tmp_path):
    model = TableModel("rent", bounds=(300.0, 800.0), **network).fit(flats[:160])
    data = table_data(model, flats[160:])
    assert data.predictions.min() == 300.0
    assert data.predictions.max() == 800.0


def test_a_table_model_finds_what_it_needs_in_the_table(of_flats, flats, tmp_path):
    with pytest.raises(ValueError, match="leave y out"):
        write_report(of_flats, flats, flats["rent"], tmp_path / "page.html")
    with pytest.raises(ValueError, match="leave times out"):
        write_report(of_flats, flats, tmp_path / "page.html", times=np.zeros(len(flats), dtype="M8[s]"))
    with pytest.raises(ValueError, match="a model of one series; leave series out"):
        write_report(of_flats, flats, tmp_path / "page.html", series="a")
    with pytest.raises(ValueError, match="no row with a value of 'rent'"):
        write_report(of_flats, flats.assign(rent=np.nan), tmp_path / "page.html")
    with pytest.raises(TypeError, match="needs the path of the file"):
        write_report(of_flats, flats)


def test_one_of_several_series(plant, network, tmp_path):
    both = pd.concat([plant.assign(unit=unit) for unit in ("a", "b")]).sort_values("time", kind="stable")
    model = TableModel("yield", time="time", group="unit", lags=[1], **network).fit(both[:600])
    data = table_data(model, both[600:], series="b")
    np.testing.assert_array_equal(data.y[:, 0], plant["yield"][300:])
    np.testing.assert_array_equal(data.row_numbers, np.arange(2, 201, 2))
    with pytest.raises(ValueError, match="series=\"LABEL\", which is one of 'a', 'b'"):
        table_data(model, both[600:])
    with pytest.raises(ValueError, match="has no row of the series 'b'"):
        table_data(model, both[600:][both[600:]["unit"] == "a"], series="b")


def test_the_printed_code_runs(of_flats, flats, tmp_path, monkeypatch):
    of_flats.save(tmp_path / "m.scn")
    flats[160:].to_csv(tmp_path / "later.csv", index=False)
    monkeypatch.chdir(tmp_path)
    write_report(load_model("m.scn"), "later.csv", "page.html")
    source = (tmp_path / "page.html").read_text(encoding="utf-8")
    (code,) = [text for text in map(unescape, re.findall("<code>(.*?)</code>", source, re.S)) if "load_model" in text]
    found = {}
    exec(code, found)
    np.testing.assert_allclose(found["predictions"], of_flats.predict(flats[160:]))


@pytest.mark.parametrize(("model", "rows", "cut"), [("of_flats", "flats", 160), ("of_plant", "plant", 300)])
def test_intervals_of_single_networks_are_on_the_page(model, rows, cut, request, tmp_path):
    from skscn.report._influence import dependences, importances

    model, later = request.getfixturevalue(model), request.getfixturevalue(rows)[cut:]
    lower, upper = model.predict_interval(later[later[model.target].notna()])
    data = table_data(model, later)
    ends = np.sort(np.column_stack(data.limits(0.9)), axis=0)
    np.testing.assert_allclose(ends, np.sort(np.column_stack([lower, upper]), axis=0))
    first = dependences(data, importances(data))[0]
    half = (upper - lower).mean() / 2.0
    np.testing.assert_allclose(first.limits[:, 1] - first.responses[:, 0], half)
    write_report(model, later, tmp_path / "page.html")
    page = unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "are the mean 90 % prediction intervals." in page.replace("\u202f", " ").replace("\xa0", " ")
    assert "--interval 0.9" in page
    assert "Its 90 % prediction intervals contain" in page.replace("\u202f", " ").replace("\xa0", " ")


def test_importance_is_that_of_the_columns_of_the_table(of_flats, flats):
    from skscn.report._influence import importances

    found = importances(table_data(of_flats, flats[160:]))
    assert [importance.name for importance in found] == ["area", "district"]
