import datetime as dt
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from skscn.tables import TableEncoder
from skscn.tables.kinds import KINDS
from skscn.tables.text import DATE_FORMATS, number_format, numbers

DAYS = [dt.date(2019, 1, 1) + dt.timedelta(days=100 * i) for i in range(8)]


@pytest.fixture
def table():
    return pa.table(
        {
            "size": [1.5, None, 2.5, 9.0, 4.0, 4.0, 1.0, 1.0],
            "town": ["Rome", "Oslo", " Rome ", None, "Rome", "Bern", "Oslo", "?"],
            "sold": DAYS,
            "at": [dt.time(6 * (i % 4), 0) for i in range(8)],
            "garden": [True, False, True, None, True, True, False, True],
            "price": ["1,234", "2,500.5", "NA", "12", "$7", "8 %", "1,000,000", "5"],
            "day": ["31/12/2020", "01/02/2021", "15/03/2021", "16/03/2021", None, "1/1/2021", "2/1/2021", "3/1/2021"],
            "kind": pa.array([1, 2, 1, 2, 1, 2, 3, 3]).dictionary_encode(),
            "same": [7] * 8,
        }
    )


def encoded(table, **parameters):
    encoder = TableEncoder(**parameters).fit(table)
    return dict(zip(encoder.get_feature_names_out(), encoder.transform(table).T, strict=True))


def test_numbers_keep_their_values_and_missing_ones_get_the_median_and_a_mark(table):
    columns = encoded(table)
    np.testing.assert_array_equal(columns["size"], [1.5, 2.5, 2.5, 9, 4, 4, 1, 1])
    np.testing.assert_array_equal(columns["size is missing"], [0, 1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(columns["price"], [1234, 2500.5, 12, 12, 7, 8, 1e6, 5])
    np.testing.assert_array_equal(columns["price is missing"], np.arange(8) == 2)


def test_categories_are_columns_of_their_own(table):
    columns = encoded(table)
    np.testing.assert_array_equal(columns["town = Rome"], [1, 0, 1, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(columns["town is missing"], [0, 0, 0, 1, 0, 0, 0, 1])
    np.testing.assert_array_equal(columns["kind = 3"], [0, 0, 0, 0, 0, 0, 1, 1])
    assert "town is others" not in columns


def test_rare_categories_are_taken_together_and_new_ones_go_there(table):
    encoder = TableEncoder(max_categories=1).fit(table.select(["town"]))
    assert list(encoder.get_feature_names_out()) == ["town = Rome", "town is others", "town is missing"]
    seen = encoder.transform(pa.table({"town": ["Rome", "Bern", "Lima", None]}))
    np.testing.assert_array_equal(seen, [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])


def test_a_new_category_is_zero_everywhere_where_all_were_kept(table):
    encoder = TableEncoder().fit(table.select(["kind"]))
    np.testing.assert_array_equal(encoder.transform(pa.table({"kind": ["2", "9"]})), [[0, 1, 0], [0, 0, 0]])


def test_dates_are_days_and_places_in_their_cycles(table):
    columns = encoded(table)
    np.testing.assert_array_equal(columns["sold"], [(day - dt.date(1970, 1, 1)).days for day in DAYS])
    # One week later everything is where it was.
    sevenths = columns["sold"] % 7
    angle = 2 * np.pi * sevenths / 7
    np.testing.assert_allclose(columns["sold sine of week"], np.sin(angle), atol=1e-9)
    np.testing.assert_allclose(columns["sold sine of year"] ** 2 + columns["sold cosine of year"] ** 2, 1)
    assert "sold sine of day" not in columns
    assert "day sine of year" not in columns, "the dates span less than a year"
    np.testing.assert_array_equal(columns["at"], [6 * (i % 4) for i in range(8)])
    np.testing.assert_allclose(columns["at sine of day"], [0, 1, 0, -1] * 2, atol=1e-12)


def test_dates_written_with_the_day_first(table):
    assert encoded(table)["day"][0] == (dt.date(2020, 12, 31) - dt.date(1970, 1, 1)).days


@pytest.mark.parametrize("format", [None, *DATE_FORMATS])
def test_every_way_to_write_a_date(format):
    moments = [dt.datetime(2020, 12, 31, 13, 45), dt.datetime(2021, 2, 28), dt.datetime(2022, 7, 4, 1, 2)]
    texts = [moment.isoformat() if format is None else moment.strftime(format) for moment in moments]
    days = [(moment - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1) for moment in moments]
    if format and "%M" not in format:
        days = [math.floor(day) for day in days]
    np.testing.assert_allclose(encoded(pa.table({"when": texts}))["when"], days, rtol=0, atol=1e-9)


@pytest.mark.parametrize("texts", [["Jan 1 2000", "Dec 31 2001"], ["January 1, 2000", "December 31, 2001"]])
def test_dates_written_with_the_month_first(texts):
    np.testing.assert_array_equal(encoded(pa.table({"when": texts}))["when"], [10957, 11687])


def test_a_month_and_a_year_are_not_a_day():
    assert TableEncoder().fit(pa.table({"when": ["Jan 2020", "Feb 2021"]})).columns_[0].kind != "date"


def test_a_fraction_of_a_second_does_not_hide_a_date():
    days = encoded(pa.table({"when": ["31.12.2020 12:00:00.250", "01.01.2021 18:00:00.75"]}))["when"]
    np.testing.assert_allclose(days, [18627.5, 18628.75], rtol=0, atol=1e-9)


def test_a_wrong_date_among_others_is_the_one_that_is_named():
    encoder = TableEncoder().fit(pa.table({"when": ["2024-01-02", "2024-02-03", "2024-03-04"]}))
    with pytest.raises(ValueError, match="'when' holds 'soon', where it held dates"):
        encoder.transform(pa.table({"when": ["2024-01-02", "2024-02-03", "soon"]}))


def test_dates_with_nanoseconds():
    days = encoded(pa.table({"when": ["2024-01-02 00:00:00.123456789", "2024-01-03 12:00:00.000000001"]}))["when"]
    np.testing.assert_allclose(days, [19724, 19725.5], rtol=0, atol=1e-5)


def test_times_in_a_zone():
    zone = dt.timezone(dt.timedelta(hours=2))
    moments = [dt.datetime(2020, 1, day, 3, tzinfo=zone) for day in (1, 2, 5)]
    days = encoded(pa.table({"when": pa.array(moments, pa.timestamp("s", "+02:00"))}))["when"]
    assert days[0] == (dt.datetime(2020, 1, 1, 1) - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
    as_text = encoded(pa.table({"when": [moment.isoformat() for moment in moments]}))["when"]
    np.testing.assert_array_equal(as_text, days)


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1,5", "2,25", "1.000,5"], [1.5, 2.25, 1000.5]),
        (["1,500", "2,250", "7"], [1500, 2250, 7]),
        (["0,123", "1,500", "7"], [0.123, 1.5, 7]),
        (["1 500", "-3", "+4e2"], [1500, -3, 400]),
        (["€ 5", "6 €", "7.5%"], [5, 6, 7.5]),
        (["12,5 %", "3,125 %", "1 %"], [12.5, 3.125, 1]),
    ],
)
def test_numbers_as_people_write_them(texts, numbers):
    np.testing.assert_array_equal(encoded(pa.table({"x": texts}))["x"], numbers)


def test_a_word_among_numbers_is_a_missing_value_and_stays_one():
    table = pa.table({"x": [*map(str, range(30)), "unknown", "31"]})
    encoder = TableEncoder().fit(table)
    assert any("'unknown'" in note for note in encoder.notes_)
    np.testing.assert_array_equal(encoder.transform(pa.table({"x": ["unknown", "5"]}))[:, 1], [1, 0])
    with pytest.raises(ValueError, match="Column 'x' holds 'unkown', where it held numbers"):
        encoder.transform(pa.table({"x": ["unkown"]}))


def test_infinite_values_are_missing():
    columns = encoded(pa.table({"x": [1.0, math.inf, 2.0, math.nan]}))
    np.testing.assert_array_equal(columns["x"], [1, 1.5, 2, 1.5])
    np.testing.assert_array_equal(columns["x is missing"], [0, 1, 0, 1])


def test_what_is_left_out_is_said(table):
    more = {
        "id": [f"customer {i}" for i in range(8)],
        "empty": pa.nulls(8),
        "list": [[1]] * 8,
    }
    for name, values in more.items():
        table = table.append_column(name, pa.array(values))
    encoder = TableEncoder(max_categories=5).fit(table)
    assert encoder.left_out_ == ["same", "id", "empty", "list"]
    for name in encoder.left_out_:
        assert any(note.startswith("Left out") and name in note for note in encoder.notes_)


def test_row_numbers_are_remarked_on():
    (note,) = TableEncoder().fit(pa.table({"id": [5, 3, 4, 6]})).notes_
    assert note == "Looks like a row number; drop it if it is one (--drop, or drop= in Python): id."
    assert not TableEncoder().fit(pa.table({"id": [5, 3, 4, 60]})).notes_


def test_groups_are_the_encoded_columns_of_each_column(table):
    encoder = TableEncoder().fit(table)
    names = encoder.get_feature_names_out()
    assert sorted(place for places in encoder.groups_.values() for place in places) == list(range(len(names)))
    for name, places in encoder.groups_.items():
        assert all(names[place].startswith(name) for place in places)


def test_order_and_more_columns_do_not_matter_and_missing_ones_are_named(table):
    encoder = TableEncoder().fit(table)
    other = table.select(table.column_names[::-1]).append_column("new", pa.array(range(8)))
    np.testing.assert_array_equal(encoder.transform(other), encoder.transform(table))
    encoder.transform(table.drop_columns(["same"]))
    with pytest.raises(ValueError, match="lacks columns 'town', 'price', which training had"):
        encoder.transform(table.drop_columns(["town", "price"]))


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("size", DAYS, "'size' holds dates, where it held numbers in training"),
        ("sold", list(range(8)), "'sold' holds numbers, where it held dates"),
        ("sold", ["soon"] * 8, "'sold' holds 'soon', where it held dates"),
        ("garden", ["maybe"] * 8, "'garden' holds 'maybe', where it held true and false"),
        ("at", ["noon"] * 8, "'at' holds 'noon', where it held times"),
        ("town", [[1]] * 8, "'town' holds values of type List"),
    ],
)
def test_another_type_is_a_sentence(table, name, values, sentence):
    encoder = TableEncoder().fit(table)
    place = table.column_names.index(name)
    with pytest.raises(ValueError, match=sentence):
        encoder.transform(table.set_column(place, name, pa.array(values)))


def test_texts_of_a_file_are_encoded_like_the_values_they_stand_for(table):
    encoder = TableEncoder().fit(table)
    as_text = {
        "size": [None if v is None else str(v) for v in table["size"].to_pylist()],
        "sold": [str(day) for day in DAYS],
        "at": [str(v) for v in table["at"].to_pylist()],
        "garden": [None if v is None else str(v).lower() for v in table["garden"].to_pylist()],
        "kind": [str(v) for v in table["kind"].to_pylist()],
    }
    same = pa.table({**{name: table[name] for name in table.column_names}, **as_text})
    np.testing.assert_array_equal(encoder.transform(same), encoder.transform(table))


def test_a_column_without_any_value_is_missing_in_every_row(table):
    encoder = TableEncoder().fit(table)
    nothing = pa.table({name: pa.nulls(2) for name in table.column_names})
    columns = dict(zip(encoder.get_feature_names_out(), encoder.transform(nothing).T, strict=True))
    for name, values in columns.items():
        expected = next((column.fill for column in encoder.columns_ if column.name == name), values[0])
        np.testing.assert_array_equal(values, np.full(2, 1.0 if name.endswith(" is missing") else expected))


def test_frames_of_pandas_and_polars(table):
    expected = TableEncoder().fit_transform(table)
    frame = table.to_pandas().set_index(pd.Index(range(8, 16)))
    np.testing.assert_allclose(TableEncoder().fit_transform(frame), expected)
    # Polars has no categories of numbers.
    table = table.drop_columns(["kind"])
    expected = TableEncoder().fit_transform(table)
    np.testing.assert_allclose(TableEncoder().fit_transform(pl.from_arrow(table)), expected)
    np.testing.assert_array_equal(TableEncoder().fit_transform([[1, 2.5], [2, 3.5]]), [[1, 2.5], [2, 3.5]])


def test_as_a_part_of_scikit_learn(table):
    encoder = clone(TableEncoder(max_categories=3))
    assert encoder.max_categories == 3
    with pytest.raises(NotFittedError):
        encoder.transform(table)
    with pytest.raises(ValueError, match="max_categories"):
        TableEncoder(max_categories=0).fit(table)
    model = make_pipeline(encoder, LinearRegression()).fit(table, np.arange(8))
    assert model.predict(table).shape == (8,)
    assert encoder.n_features_in_ == 9
    assert encoder.__sklearn_tags__().input_tags.allow_nan


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (pa.table({"x": pa.array([], pa.float64())}), "no rows"),
        (pa.table({"x": [1, 1]}), "no column to learn from; Left out because all rows have the same value: x"),
        (pa.Table.from_arrays([pa.array([1, 2])] * 2, ["x", "x"]), "several columns 'x'"),
        (pd.DataFrame({"x": [1, "a", None]}), "several kinds"),
        (np.zeros(3), "2 dimensions"),
    ],
)
def test_what_cannot_be_learnt_is_said(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableEncoder().fit(table)


def test_a_number_that_is_too_large_is_missing_in_every_kind_of_column():
    as_float, as_text = pa.table({"x": [1.0, math.inf, 3.0]}), pa.table({"x": ["1 %", "1e400", "3 %"]})
    for table in (as_float, as_text):
        encoder = TableEncoder().fit(table)
        np.testing.assert_array_equal(encoder.transform(table), [[1, 0], [2, 1], [3, 0]])
        assert "Infinite values treated as missing: x (1)." in encoder.notes_


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["84.4 °C", "85 °C", "1e2 °C"], [84.4, 85, 100]),
        (["1,5 kg/m²", "2,25 kg/m²", "3"], [1.5, 2.25, 3]),
        (["3 bedrooms", "4 bedrooms", "10 bedrooms"], [3, 4, 10]),
    ],
)
def test_numbers_with_the_same_unit_are_numbers(texts, numbers):
    table = pa.table({"x": texts})
    encoder = TableEncoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table)[:, 0], numbers)
    again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    with pytest.raises(ValueError, match="'x' holds '5 miles', where it held numbers in"):
        again.transform(pa.table({"x": ["5 miles"]}))
    assert len(TableEncoder().fit(pa.table({"x": [*texts, "1 inch"]})).get_feature_names_out()) > 1


DAY, MONTH = (dt.date(2024, 4, 3) - dt.date(1970, 1, 1)).days, (dt.date(2024, 3, 4) - dt.date(1970, 1, 1)).days


@pytest.mark.parametrize(
    ("others", "order", "days"),
    [
        ([], "auto", MONTH),
        ([], "day-first", DAY),
        ([], "month-first", MONTH),
        (["25/12/2024"], "auto", DAY),
        (["25/12/2024"], "month-first", DAY),
        (["12/25/2024"], "day-first", MONTH),
    ],
)
def test_the_order_of_day_and_month_is_decided_by_all_dates_or_by_the_user(others, order, days):
    table = pa.table({"when": ["03/04/2024", "05/06/2024", *others] * 40})
    encoder = TableEncoder(dates=order).fit(table)
    assert encoder.transform(table)[0, 0] == days
    notes = " ".join(encoder.notes_)
    assert ("read day first" if days == DAY else "read month first") in notes
    assert ("could be read day first or month first" in notes) == (order == "auto" and not others)
    assert TableEncoder.from_json(encoder.to_json()).dates == order


def test_parts_of_the_rows_are_encoded_as_the_kinds_that_all_of_them_are():
    rng = np.random.default_rng(0)
    names = [f"n{i}" for i in rng.integers(0, 30, 60)]
    table = pa.table({"name": names, "x": [None, *rng.normal(size=59)], "day": ["03/04/2024"] * 59 + ["25/12/2024"]})
    encoder = TableEncoder(max_categories=25).fit(table)
    part = table.slice(1, 20)
    refitted = encoder.refitted(part)
    assert [type(column) for column in refitted.columns_] == [type(column) for column in encoder.columns_]
    by_name = {column.name: column for column in refitted.columns_}
    assert by_name["x"].fill == np.median(part["x"].to_numpy())
    assert set(by_name["name"].categories) == set(part["name"].to_pylist())
    assert refitted.transform(table).shape == (60, len(refitted.get_feature_names_out()))
    assert encoder.columns_ == TableEncoder(max_categories=25).fit(table).columns_


def test_the_work_on_names_grows_with_their_number():
    # Names are compared by hash: each comparison of two texts that differ would count here.
    comparisons = []

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            comparisons.append(1)
            return str.__eq__(self, other)

    def counted(n_columns):
        names = [f"x{i}" for i in range(n_columns)]
        table = pa.table(dict.fromkeys(names, pa.array([1.0, 2.0])))
        encoder = TableEncoder().fit(table.select(["x0"]))
        encoder._set([replace(encoder.columns_[0], name=Name(name)) for name in names], [], [])
        comparisons.clear()
        assert encoder.transform(table).shape == (2, n_columns)
        return len(comparisons)

    few, many = counted(1_000), counted(10_000)
    assert many < 20 * max(few, 1_000)


# ---- as JSON


def test_an_encoder_comes_back_from_json(table):
    encoder = TableEncoder().fit(table)
    again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json(), allow_nan=False)))
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    assert again.notes_ == encoder.notes_
    assert again.groups_ == encoder.groups_
    assert list(again.get_feature_names_out()) == list(encoder.get_feature_names_out())
    assert {column.kind for column in again.columns_} == set(KINDS) - {"row time", "category with target means"}


BAD = [None, True, -1, 1.5, math.inf, math.nan, "x", "", [], ["a", "a"], [1], {}, {"kind": []}, [None], 10**400]


def hostile_states(state):
    """States that differ from a good one in one place."""
    for key in state:
        yield {name: value for name, value in state.items() if name != key}
        yield from ({**state, key: value} for value in BAD)
    for place, column in enumerate(state["columns"]):
        for key in column:
            fewer = {name: value for name, value in column.items() if name != key}
            for changed in (fewer, {**column, "more": 1}, *({**column, key: value} for value in BAD)):
                columns = list(state["columns"])
                columns[place] = changed
                yield {**state, "columns": columns}
    yield {**state, "columns": state["columns"] * 2}
    yield {**state, "left_out": [state["columns"][0]["name"]]}
    yield from BAD


def test_a_hostile_state_raises_a_sentence_or_is_as_good_as_a_real_one(table):
    state = json.loads(json.dumps(TableEncoder().fit(table).to_json()))
    refusals = []
    for changed in hostile_states(state):
        try:
            encoder = TableEncoder.from_json(changed)
        except ValueError as error:
            refusals.append(str(error))
            continue
        # What is taken can be written, and encodes or says why not.
        assert TableEncoder.from_json(json.loads(json.dumps(encoder.to_json()))).to_json() == encoder.to_json()
        try:
            assert encoder.transform(table).shape == (8, len(encoder.get_feature_names_out()))
        except ValueError as error:
            refusals.append(str(error))
    assert len(refusals) > 300
    assert all((sentence.endswith(".") and "olumn" in sentence) or "encoder" in sentence for sentence in refusals)


# ---- the time of the rows


def minutes(n_rows, start="2024-03-01"):
    """Moments five minutes apart."""
    return np.datetime64(start, "us") + np.arange(n_rows) * np.timedelta64(5, "m")


def series(n_rows):
    """Rows in order of time."""
    times = minutes(n_rows)
    return pa.table({"when": times, "number": np.arange(n_rows), "flow": np.sin(np.arange(n_rows) / 9.0)})


def test_the_time_of_the_rows_is_no_trend_and_its_cycles_stay():
    encoder = TableEncoder(time="when").fit(series(2000))
    assert encoder.time_ == "when"
    assert list(encoder.get_feature_names_out()) == ["when sine of day", "when cosine of day", "flow"]
    noon = pa.table({"when": [dt.datetime(2031, 5, 6, 12)], "flow": [0.5]})
    np.testing.assert_allclose(encoder.transform(noon), [[0, -1, 0.5]], atol=1e-9)
    assert any("number" in note and "increases" in note for note in encoder.notes_)


def test_cycles_that_a_series_does_not_span_often_enough_are_left_out():
    encoder = TableEncoder(time="when").fit(series(500))
    assert list(encoder.get_feature_names_out()) == ["flow"]
    assert encoder.left_out_ == ["when", "number"]
    assert "when" not in encoder.read_types
    assert list(encoder.time_types) == ["when"]


def test_other_dates_that_rise_with_the_rows_are_no_trend_either():
    table = series(2000).append_column("sampled", pa.array(minutes(2000, "2024-02-29")))
    shuffled = np.random.default_rng(0).permutation(minutes(2000, "2020-01-01"))
    names = TableEncoder(time="when").fit(table.append_column("built", pa.array(shuffled))).get_feature_names_out()
    assert "sampled" not in names
    assert "sampled sine of day" in names
    assert "built" in names


@pytest.mark.parametrize("as_text", [False, True])
def test_the_time_of_each_row(as_text):
    times = minutes(30)
    given = pa.array(times) if not as_text else pa.array([str(time).replace("T", " ") for time in times])
    table = pa.table({"when": given, "flow": np.arange(30.0) ** 2})
    encoder = TableEncoder(time="when").fit(table)
    np.testing.assert_array_equal(encoder.row_times(table), times)
    gap = pa.table({"when": pa.array([None, times[3].item()], pa.timestamp("us")), "flow": [1.0, 2.0]})
    np.testing.assert_array_equal(encoder.row_times(gap), np.array(["NaT", times[3]], "datetime64[us]"))


@pytest.mark.parametrize("n_rows", [500, 2000])
def test_an_encoder_of_a_series_comes_back_from_json(n_rows):
    table = series(n_rows)
    encoder = TableEncoder(time="when").fit(table)
    again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert again.time_ == again.time == "when"
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    np.testing.assert_array_equal(again.row_times(table), encoder.row_times(table))


def test_a_forged_time_is_refused():
    state = TableEncoder(time="when").fit(series(500)).to_json()
    for forged in ({**state["time"], "name": "flow"}, {**state["time"], "kind": "date"}, 3):
        with pytest.raises(ValueError, match="column"):
            TableEncoder.from_json({**state, "time": forged})


def test_what_cannot_be_the_time_of_rows():
    with pytest.raises(ValueError, match="'flow' cannot be the time of the rows"):
        TableEncoder(time="flow").fit(series(50))
    with pytest.raises(ValueError, match="no column 'then'"):
        TableEncoder(time="then").fit(series(50))
    with pytest.raises(ValueError, match="knows no time of the rows"):
        TableEncoder().fit(series(50)).row_times(series(50))


def test_rows_of_one_moment():
    table = pa.table({"when": [dt.datetime(2024, 1, 1)] * 4, "flow": [1.0, 2.0, 3.0, 5.0]})
    assert TableEncoder(time="when").fit(table).time_ == "when"


def test_a_constant_near_the_largest_float_is_left_out():
    assert TableEncoder().fit(pa.table({"a": [1.7e308] * 4, "b": [1.0, 2.0, 3.0, 4.0]})).left_out_ == ["a"]


def test_words_among_numbers_are_missing_in_all_columns():
    rng = np.random.default_rng(0)
    texts = ["No Data" if i % 2 else "kaputt" if i == 4 else f"{x:.2f}" for i, x in enumerate(rng.normal(size=50))]
    encoder = TableEncoder().fit(pa.table({"flow": texts, "level": rng.normal(size=50), "state": ["bad", "good"] * 25}))
    assert encoder.placeholders_ == ("No Data", "kaputt")
    assert "flow" in encoder.groups_
    assert list(encoder.groups_["state"]) == [3, 4]
    words = ["Bad Input", "kaputt", "-inf", "#DIV/0!", "i/o timeout", "2.5"]
    later = pa.table({"flow": words, "level": words, "state": ["bad"] * 6})
    filled = [column.fill for column in encoder.columns_[:2]]
    np.testing.assert_array_equal(encoder.transform(later)[:, [0, 2]], [filled] * 5 + [[2.5, 2.5]])
    with pytest.raises(ValueError, match="Column 'level' holds 'other'"):
        encoder.transform(pa.table({"flow": ["1"], "level": ["other"], "state": ["bad"]}))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["806", "2.607", "1.627"], [806.0, 2607.0, 1627.0]),
        (["2.473.335", "12.600"], [2473335.0, 12600.0]),
        (["1.600 €", "900 €"], [1600.0, 900.0]),
        (["98.832", "97.114"], [98.832, 97.114]),
        (["0.500", "12"], [0.5, 12.0]),
        (["1234", "2.607"], [1234.0, 2.607]),
        (["12,5", "2.607"], [12.5, 2607.0]),
    ],
)
def test_points_separate_thousands_where_the_column_shows_it(texts, expected):
    decimal, unit = number_format(texts)
    assert numbers(texts, decimal, unit).tolist() == expected
