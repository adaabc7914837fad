"""Table models in Python: what they decide, what they predict, and that the program does the same."""

import csv
import io
import json
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import skscn
from skscn import SCNRegressor, TableModel, assess, load_model, save_model
from skscn.cli.app import app
from skscn.cli.console import as_options
from skscn.datasets import EXAMPLES

FEW = {"max_nodes": 8}


def flats(n_rows, seed=0):
    return pd.DataFrame(EXAMPLES["flats"](n_rows, random_state=seed))


def plant(n_rows, seed=0):
    return pd.DataFrame(EXAMPLES["plant"](n_rows, random_state=seed))


def program(*arguments, text=None):
    done = CliRunner().invoke(app, list(map(str, arguments)), input=text)
    assert done.exit_code == 0, done.stdout + done.stderr
    return done.stdout


KINDS = {
    "network": ({"estimator": "network"}, flats, "rent", []),
    "ensemble": ({"estimator": "ensemble", "parameters": {**FEW, "n_members": 2}}, flats, "rent", []),
    "deep": ({"estimator": "deep"}, flats, "rent", []),
    "classifier": ({"estimator": "network"}, flats, "heating", []),
    "lags": ({"estimator": "network", "lags": [1, 2], "delay": 2}, plant, "quality", ["--lags", "1,2", "--delay", 2]),
    "recurrent": ({"estimator": "recurrent"}, plant, "quality", []),
    "recurrent ensemble": (
        {"estimator": "recurrent-ensemble", "parameters": {**FEW, "n_estimators": 2}},
        plant,
        "quality",
        [],
    ),
}


@pytest.fixture(scope="module", params=list(KINDS))
def fitted(request, tmp_path_factory):
    options, table, target, more = KINDS[request.param]
    rows = table(360 if target != "heating" else 700)
    rows = rows if target != "heating" else rows[rows["heating"].notna()].reset_index(drop=True)
    options = {"parameters": FEW, "folds": 2, **options}
    model = TableModel(target, **options).fit(rows[:300])
    return request.param, model, rows[:300], rows[300:360], options, more, tmp_path_factory.mktemp("model")


def test_frames_files_and_the_program_give_the_same(fitted):
    _, model, known, later, options, more, folder = fitted
    known.to_csv(folder / "known.csv", index=False)
    later.to_csv(folder / "later.csv", index=False)
    settings = [text for name, value in options["parameters"].items() for text in ("--set", f"{name}={value}")]
    path = folder / "model.scn"
    program(
        *("fit", folder / "known.csv", "-t", model.target, "-o", path, "--estimator", options["estimator"]),
        *("--folds", 2, "--jobs", 1, *settings, *more, "-q"),
    )
    predicted = list(csv.DictReader(io.StringIO(program("predict", path, folder / "later.csv", "-q"))))
    of_program = load_model(path)
    assert isinstance(of_program, TableModel)
    for other in (
        of_program.predict(folder / "later.csv"),
        TableModel(model.target, **options).fit(folder / "known.csv").predict(later),
    ):
        if model.is_classifier:
            assert other.tolist() == model.predict(later).tolist() == [row["prediction"] for row in predicted]
        else:
            np.testing.assert_array_equal(other, [float(row["prediction"]) for row in predicted])
            np.testing.assert_allclose(other, model.predict(later), rtol=1e-9)
    found = assess(of_program, folder / "later.csv")
    assert found.scores == pytest.approx(assess(model, later).scores)
    assert found.verdict in program("evaluate", path, folder / "later.csv", "-q")
    tests, again = model.assessment_, of_program.record_["tested"]
    assert {name: value["mean"] for name, value in again.items() if name in tests.scores} == pytest.approx(tests.scores)


def test_a_saved_model_is_the_same(fitted, tmp_path):
    _, model, _, later, *_ = fitted
    model.save(tmp_path / "a.scn", notes={"plant": "north"})
    save_model(load_model(tmp_path / "a.scn"), tmp_path / "b.scn")
    loaded = load_model(tmp_path / "b.scn")
    assert loaded.user_notes_ == {"plant": "north"}
    assert loaded.predict(later).tolist() == model.predict(later).tolist()
    if model.has_intervals:
        np.testing.assert_array_equal(loaded.predict_interval(later), model.predict_interval(later))
    assert str(assess(loaded, later)) == str(assess(model, later))


def test_every_kind_can_be_updated(fitted):
    _, model, _, later, *_ = fitted
    first, second = later[:40], later[40:]
    # A copy learns; the model itself stays as it is.
    before = model.predict(later)
    updated = deepcopy(model)
    found = updated.update(first, force=True)
    assert found.n_rows == first[model.target].notna().sum()
    assert updated.estimator_.n_rows_seen_ > model.estimator_.n_rows_seen_
    assert updated.record_["updated_with"][-1]["rows"] == found.n_rows
    assert model.predict(later).tolist() == before.tolist()
    assert len(updated.predict(second)) == len(second)


def test_rows_that_were_learnt_are_no_longer_outside_the_training_range():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"speed": rng.uniform(0.0, 1.0, 300), "load": rng.uniform(0.0, 1.0, 300)})
    rows["heat"] = rows["speed"] + rows["load"] ** 2
    model = TableModel("heat", random_state=0).fit(rows[:200])
    later = rows[200:].assign(speed=lambda table: table["speed"] + 1.5)
    assert "speed" in [found.name for found in model.encoder_.outside(later)]
    model.update(later, force=True)
    assert not model.encoder_.outside(later)
    assert [found.name for found in model.encoder_.outside(later.assign(load=3.0))] == ["load"]


def test_answers_one_by_one_are_those_of_a_table(fitted):
    kind, model, _, later, *_ = fitted
    live = model.follow(learn=False)
    rows = later.to_dict("records")
    expected = model.predict(later)
    for row, value in zip(rows, expected.tolist(), strict=True):
        answer = live.predict_one(row)
        if kind == "lags":
            live.learn_one(row, row[model.target])
        assert answer == value if model.is_classifier else answer == pytest.approx(value, rel=1e-9)
    assert live.n_answered == len(rows)
    if model.is_classifier:
        assert live.probabilities().sum() == pytest.approx(1.0)
    elif model.has_intervals:
        low, high = live.interval()
        assert low < answer < high


def test_libraries_of_frames(fitted):
    _, model, _, later, *_ = fitted
    frame = pl.from_pandas(later)
    for table in (frame, frame.to_arrow(), frame.to_dict(as_series=False)):
        assert model.predict(table).tolist() == model.predict(later).tolist()


def test_what_was_decided_is_said():
    rows = flats(120)
    model = TableModel("rent", estimator="network", folds=0, parameters=FEW).fit(rows)
    assert any(note.startswith("rent: regression") for note in model.notes_)
    assert model.assessment_.tests is None
    # The target is the last column unless it is named.
    assert TableModel(estimator="network", folds=0, parameters=FEW).fit(rows).target_.name == rows.columns[-1]


def test_bounds_hold_for_predictions_and_intervals():
    rows = flats(200)
    low, high = rows["rent"].quantile([0.3, 0.6])
    model = TableModel("rent", folds=0, bounds=(low, high), parameters={**FEW, "n_members": 2}).fit(rows)
    ends = np.concatenate([model.predict(rows), *model.predict_interval(rows)])
    assert (ends.min(), ends.max()) == (low, high)


def wells(n_rows, seed=0):
    """A series with a category, missing numbers, and an output that follows two inputs some rows later."""
    rng = np.random.default_rng(seed)
    steam, price = rng.uniform(0, 10, n_rows), rng.uniform(1, 5, n_rows)
    table = pd.DataFrame({"steam": steam, "price": price, "kind": rng.choice(["a", "b"], n_rows)})
    table["time"] = pd.date_range("2024-01-01", periods=n_rows, freq="h")
    table["flow"] = np.tanh(np.roll(steam, 1) / 3 - 1) - np.sqrt(price) + 0.4 * rng.normal(size=n_rows)
    table.loc[::9, "price"] = np.nan
    return table


@pytest.mark.parametrize("estimator", ["network", "ensemble"])
@pytest.mark.parametrize("series", [{}, {"lags": [1, 3], "delay": 1}])
def test_monotone_columns_are_so_with_their_past_after_updates_and_in_files(estimator, series, tmp_path):
    table, parameters = wells(300), FEW | ({"n_members": 2} if estimator == "ensemble" else {})
    options = {"estimator": estimator, "time": "time", "monotone": {"steam": 1, "price": -1}, **series}
    model = TableModel("flow", folds=2, parameters=parameters, **options).fit(table[:200])

    def worst(model):
        rng, later = np.random.default_rng(1), table[200:240]
        more = later.assign(steam=later["steam"] + rng.uniform(0, 3), price=later["price"] - rng.uniform(0, 2))
        # What is filled in depends on the other columns, in the rows after as well.
        missing = later["price"].isna().to_numpy()
        known = ~(missing | np.roll(missing, 1) | np.roll(missing, 3))
        return (model.predict(later) - model.predict(more))[known].max()

    assert worst(model) <= 1e-12
    model.save(tmp_path / "wells.scn")
    loaded = load_model(tmp_path / "wells.scn")
    loaded.update(table[200:].assign(flow=-table["flow"]), force=True)
    assert not np.array_equal(loaded.predict(table[240:]), model.predict(table[240:]))
    assert worst(loaded) <= 1e-12


def test_signs_of_the_program_are_those_of_python(tmp_path):
    table = wells(120).drop(columns="time")
    table.to_csv(tmp_path / "wells.csv", index=False)
    parameters = ["--estimator", "network", "--folds", 0, "--set", "max_nodes=8", "--monotone", "steam=+"]
    program("fit", tmp_path / "wells.csv", "-t", "flow", "-m", tmp_path / "m.scn", *parameters, "--monotone", "price=-")
    signs = {"steam": 1, "price": -1}
    model = TableModel("flow", estimator="network", folds=0, parameters=FEW, monotone=signs).fit(tmp_path / "wells.csv")
    np.testing.assert_array_equal(load_model(tmp_path / "m.scn").predict(table), model.predict(table))
    # The file is read from disk if it does not fit into memory.
    chunks = TableModel("flow", memory_limit=5000, parameters=FEW, monotone=signs).fit(tmp_path / "wells.csv")
    assert chunks.estimator_.monotone[:2] == [1, -1]
    for sign, sentence in (
        ("steam=up", "steam=up"),
        ("steam=2", "must be COLUMN=+ or COLUMN=-; got 'steam=2'"),
        ("stem=+", "did you mean 'steam'"),
        ("kind=+", "not numeric; leave"),
    ):
        wrong = ["fit", tmp_path / "wells.csv", "-t", "flow", "-m", tmp_path / "m.scn", "--monotone", sign]
        done = CliRunner().invoke(app, list(map(str, wrong)))
        assert done.exit_code in (1, 2)
        assert sentence in " ".join(done.stderr.split())


def pump(n_rows, seed=0):
    """Flow rises with speed and falls with pressure, which rises with speed; filter does nothing."""
    rng = np.random.default_rng(seed)
    speed, dirt = rng.uniform(1, 3, n_rows), rng.uniform(0, 1, n_rows)
    pressure = speed + rng.uniform(0, 1, n_rows)
    flow = 2.0 * speed - pressure + np.sin(4.0 * dirt) + 0.2 * rng.normal(size=n_rows)
    table = pd.DataFrame({"speed": speed, "pressure": pressure, "dirt": dirt, "filter": rng.uniform(size=n_rows)})
    return table.assign(flow=flow)


@pytest.mark.parametrize(
    "options", [{"estimator": "network", "folds": 3}, {"folds": 0}, {"estimator": "network", "lags": [1], "folds": 2}]
)
def test_a_sign_that_the_rows_contradict_is_a_caution(options):
    table = pump(300)
    if "lags" in options:
        table = table.assign(time=pd.date_range("2026-01-01", periods=300, freq="h"))
    parameters = {"max_nodes": 20} | ({} if "estimator" in options else {"n_members": 4})
    signs = {"speed": 1, "pressure": 1, "dirt": 0, "filter": -1}
    wrong = TableModel("flow", monotone=signs, parameters=parameters, **options).fit(table)
    (caution,) = [caution for caution in wrong.assessment_.cautions if caution.code == "wrong_sign"]
    assert (caution.values["column"], caution.values["sign"]) == ("pressure", 1)
    assert 0.1 < caution.values["gain"] < 0.6
    assert "may only increase with pressure, but in rows that were held out the target decreases" in str(caution)
    right = TableModel("flow", monotone={**signs, "pressure": -1}, parameters=parameters, **options).fit(table)
    assert "wrong_sign" not in [caution.code for caution in right.assessment_.cautions]


def test_inspect_shows_the_signs(tmp_path):
    options = {"estimator": "network", "folds": 0, "parameters": {"max_nodes": 5}}
    for signs, line in (({"speed": 1, "pressure": -1, "dirt": 0}, "Monotone speed=+, pressure=-"), (None, None)):
        TableModel("flow", monotone=signs, **options).fit(pump(100)).save(tmp_path / "pump.scn")
        shown = [" ".join(each.split()) for each in program("inspect", tmp_path / "pump.scn").splitlines()]
        assert [each for each in shown if each.startswith("Monotone")] == ([] if line is None else [line])
        assert json.loads(program("inspect", tmp_path / "pump.scn", "--json"))["monotone"] == (
            {} if signs is None else {"speed": 1, "pressure": -1}
        )


def test_dates_are_monotone_unless_their_season_is_an_input_too():
    rows = pump(120)
    options = {
        "time": False,
        "estimator": "network",
        "folds": 0,
        "parameters": {"max_nodes": 5},
        "monotone": {"day": 1},
    }
    days = pd.to_timedelta(np.random.default_rng(0).permutation(120) / 24.0, "D")
    table = rows.assign(day=pd.Timestamp("2026-01-01") + days.round("D"))
    model = TableModel("flow", **options).fit(table)
    later = model.predict(table.assign(day=table["day"] + pd.Timedelta("300D")))
    assert (later >= model.predict(table) - 1e-12).all()
    table = rows.assign(day=pd.Timestamp("2026-01-01") + 365 * days)
    with pytest.raises(ValueError, match=r"'day' has dates, whose place in the year.* or replace it by a number"):
        TableModel("flow", **options).fit(table)
    with pytest.raises(ValueError, match="'day' has dates"):
        SCNRegressor(monotone={"day": 1}).fit(table.drop(columns="flow"), table["flow"])


@pytest.mark.parametrize("memory_limit", [None, 4000])
def test_points_separate_thousands_where_the_file_has_decimal_commas(tmp_path, memory_limit):
    rng = np.random.default_rng(0)
    miles, age = rng.integers(10_000, 99_999, 300), rng.uniform(0, 9, 300).round(1)
    price = 200_000 - miles - 5000 * age.round()
    lines = [
        f"{m:,};{a};{int(p):,}".replace(",", "p").replace(".", ",").replace("p", ".")
        for m, a, p in zip(miles, age, price, strict=True)
    ]
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        half = len(lines) // 2 if folder == "two" else len(lines)
        for number, part in enumerate((lines[:half], lines[half:])):
            if part:
                (tmp_path / folder / f"{number}.csv").write_text(
                    "\n".join(["miles;age;price", *part]), encoding="utf-8"
                )
    options = {"estimator": "network", "time": False, "parameters": FEW, "folds": 2, "memory_limit": memory_limit}
    for path in (tmp_path / "one" / "0.csv", tmp_path / "two"):
        model = TableModel("price", **options).fit(path)
        model.save(tmp_path / "cars.scn")
        predicted = load_model(tmp_path / "cars.scn").predict(path)
        assert 1000.0 < np.abs(predicted - price).max() < 40_000.0
        assert predicted.mean() == pytest.approx(price.mean(), rel=0.05)
        np.testing.assert_array_equal(
            model.encoder_.transform(pd.DataFrame({"miles": miles, "age": age})), np.column_stack([miles, age])
        )
        rows = "\n".join(["miles;age;price", *lines[:3]])
        said = program("follow", tmp_path / "cars.scn", "-q", text=rows).split()[1:]
        np.testing.assert_allclose(list(map(float, said)), predicted[:3])


def test_intervals_of_a_free_run_are_refused():
    rows = plant(330)
    model = TableModel("quality", estimator="recurrent", feedback=True, folds=0, parameters=FEW).fit(rows[:300])
    with pytest.raises(ValueError, match="does not contain 'quality', so predictions come back as inputs"):
        model.predict_interval(rows[300:].drop(columns="quality"))


def test_an_estimator_of_ones_own():
    model = TableModel("rent", estimator=SCNRegressor(max_nodes=5, random_state=3), folds=2).fit(flats(120))
    assert model.estimator_.n_nodes_ <= 5
    assert model.estimator_.random_state == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"target": "rents"}, "did you mean 'rent'"),
        ({"target": "rent", "lags": "auto", "time": False}, "time=False cannot be combined with lags"),
        ({"target": "rent", "feedback": True}, 'feedback=True needs estimator="recurrent"'),
        ({"target": "rent", "loss": "hubr"}, "did you mean 'huber'"),
        ({"target": "rent", "loss": "quantile:2"}, "between 0 and 1"),
        ({"target": "rent", "parameters": {"nodes": 3}}, "did you mean 'max_nodes'"),
        ({"target": "rent", "bounds": (5, 1)}, "increasing order"),
        ({"target": "district", "bounds": (0, 1)}, "bounds are for numbers"),
        ({"target": "rent", "monotone": {"sise": 1}}, "did you mean 'size'"),
        ({"target": "rent", "monotone": {"rent": 1}}, "'rent', which is not an input; leave it out"),
        ({"target": "rent", "monotone": {"size": 2}}, "1, -1 or 0 for each column; got 2 for 'size'"),
        ({"target": "rent", "monotone": {"district": 1}}, "column 'district' is not numeric; leave it out"),
        ({"target": "heating", "monotone": {"size": 1}}, "monotone is for numbers"),
        ({"target": "rent", "monotone": {"size": 1}, "estimator": "deep"}, 'use estimator="ensemble"'),
        ({"target": "rent", "monotone": {"size": 1}, "loss": "huber"}, "leave loss out"),
        ({"target": "rent", "parameters": {"monotone": [1]}}, "use monotone=…"),
        ({"target": "rent", "delay": 3}, "delay needs lags"),
        ({"target": "rent", "folds": 1}, "at least 2"),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        TableModel(**options).fit(flats(60))


@pytest.mark.parametrize("frame", [pd.DataFrame(), pl.DataFrame()])
def test_a_table_without_columns_is_refused(frame):
    with pytest.raises(ValueError, match=r"There are no columns in the table, so none is named 'rent'\."):
        TableModel("rent").fit(frame)


def test_messages_of_the_library_become_options_of_the_program():
    said = 'add lags="auto", time=False, feedback=True or parameters={"max_nodes": 200}; raise memory_limit (folds=0)'
    expected = "add --lags auto, --no-time, --feedback or --set max_nodes=200; raise --memory-limit (--folds 0)"
    said, expected = f"{said}, lags=[1, 2], bounds=(0, 9.5)", f"{expected}, --lags 1,2, --bounds 0,9.5"
    assert as_options(said) == expected


def test_the_package_offers_it():
    assert {"TableModel", "assess", "Assessment"} <= set(skscn.__all__)


def test_recurrent_networks_have_the_calendar_if_it_helps():
    rng, times = np.random.default_rng(0), pd.date_range("2026-01-05", periods=500, freq="h")
    heat = np.convolve(rng.normal(size=500), [0.5, 0.3, 0.2])[:500]
    daily = 3.0 * np.sin(2.0 * np.pi * times.hour / 24.0)
    options = {"time": "time", "estimator": "recurrent", "folds": 0, "parameters": {"max_nodes": 4}}
    for load, names in ((heat + daily, {"heat", "time sine of day", "time cosine of day"}), (heat, {"heat"})):
        rows = pd.DataFrame({"time": times, "heat": heat, "load": load + 0.1 * rng.normal(size=500)})
        model = TableModel("load", **options).fit(rows[:400])
        assert {*model.encoder_.get_feature_names_out()} >= names
        assert len(model.encoder_.get_feature_names_out()) == 1 or "time sine of day" in names
        assert model.assess(rows[400:]).scores["r2"] > 0.8


def test_intervals_of_a_single_network_come_from_its_tests(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.uniform(-1, 1, 1200)})
    rows["y"] = np.sin(3 * rows["x"]) + rng.normal(0, 0.2, 1200)
    options = {"estimator": "network", "parameters": {"max_nodes": 15}}
    model = TableModel("y", folds=4, **options).fit(rows[:400])
    model.save(tmp_path / "model.scn")
    model = load_model(tmp_path / "model.scn")
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(rows[400:], coverage)
        assert abs(np.mean((low <= rows["y"][400:]) & (rows["y"][400:] <= high)) - coverage) < 0.05
    assert model.assess(rows[400:]).coverage == pytest.approx(0.9, abs=0.05)
    with pytest.raises(ValueError, match="learnt from errors on held-out rows"):
        TableModel("y", folds=0, **options).fit(rows[:100]).predict_interval(rows)
    with pytest.raises(ValueError, match="around a mean"):
        TableModel("y", folds=2, loss="quantile:0.9", **options).fit(rows[:200]).predict_interval(rows)


def test_one_column_to_drop_may_be_a_string():
    table = plant(60).assign(id=range(60))
    model = TableModel("quality", drop="id", estimator="network", folds=0, parameters={"max_nodes": 2}).fit(table)
    assert "id" not in model.encoder_.read_types


@pytest.mark.parametrize("given_away", [True, False])
def test_a_target_that_is_among_the_inputs_is_a_caution(given_away):
    table = pump(300)
    if given_away:
        table = table.assign(per_minute=table["flow"] / 60.0)
    model = TableModel("flow", estimator="network", parameters={"max_nodes": 20}).fit(table)
    assert ("too_good" in [caution.code for caution in model.assessment_.cautions]) == given_away
