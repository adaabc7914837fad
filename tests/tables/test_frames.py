"""Frames of all packages, with columns of all types."""

import itertools
import re
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from skscn import (
    IRVFLRegressor,
    OnlineSCNClassifier,
    OnlineSCNRegressor,
    RecurrentSCNRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNRegressor,
    TableModel,
)
from skscn.readers import as_file
from skscn.tables import TableEncoder, learn_target, open_table
from skscn.tables.text import numbers

ROOT = Path(__file__).parents[2]
TINY = {"max_nodes": 2, "random_state": 0}
# What numbers are written with, and what may look like one.
SIGNS = [*"0179+-eE.x% ", "inf", "nan"]
SHORT = ["".join(signs) for length in (1, 2, 3) for signs in itertools.product(SIGNS, repeat=length)]
PACKAGES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


# ---- text that looks like numbers


def test_a_category_that_looks_like_an_exponent_is_text():
    frame = pd.DataFrame({"a": np.arange(9.0), "s": ["e7", "b2", "c3"] * 3})
    model = SCNRegressor(**TINY).fit(frame, np.arange(9.0))
    assert model.encoder_.table.columns_[1].categories == ("b2", "c3", "e7")
    assert np.isfinite(model.predict(frame)).all()


def test_every_short_text_is_a_number_or_none():
    found = numbers(SHORT, ".")
    for text, number in zip(SHORT, found, strict=True):
        written = re.fullmatch(r"([-+]? ?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?) ?%?", text)
        assert number == pytest.approx(float(written[1].replace(" ", ""))) if written else np.isnan(number), text


def columns_of(texts):
    """Columns in which a text is all there is, or among numbers, or among other text."""
    first = {f"only {place}": [text] * 4 for place, text in enumerate(texts)}
    second = {f"number {place}": [text, "1", "2.5", text] for place, text in enumerate(texts)}
    return {"a": ["1", "2", "3", "4"], **first, **second} | {
        f"text {place}": [text, "b2", text, "c3"] for place, text in enumerate(texts)
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_short_texts_of_all_kinds_are_encoded(package):
    rng = np.random.default_rng(0)
    for texts in rng.choice(SHORT, (20, 8)).tolist():
        table = PACKAGES[package]({"a": list(range(len(texts))), "s": texts})
        encoder = TableEncoder(max_categories=3).fit(table)
        assert np.isfinite(encoder.transform(table)).all()
        learn_target("s", table["s"], "classification")


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_every_short_text_is_encoded(package):
    for start in range(60):
        table = PACKAGES[package](columns_of(SHORT[start::60]))
        assert np.isfinite(TableEncoder().fit(table).transform(table)).all()


@pytest.mark.slow
def test_every_short_text_is_read_from_a_file(tmp_path):
    path = tmp_path / "table.csv"
    for start in range(60):
        columns = columns_of(SHORT[start::60])
        rows = zip(*columns.values(), strict=True)
        path.write_text("\n".join(",".join(row) for row in [columns, *rows]) + "\n", encoding="utf-8")
        table = open_table(path).read()
        assert np.isfinite(TableEncoder().fit(table).transform(table)).all()


# ---- packages


@pytest.mark.parametrize("dtype", ["Int64", "UInt64", "int64[pyarrow]", "uint64[pyarrow]"])
@pytest.mark.parametrize(
    "model",
    [
        SCNClassifier(**TINY),
        OnlineSCNClassifier(max_nodes=2),
        SCNEnsembleClassifier(SCNClassifier(max_nodes=2, early_stopping=True), n_members=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_large_whole_numbers_of_nullable_types_are_different_classes(model, dtype):
    labels = [10**17, 10**17 + 1, 5] * 20
    X = np.random.default_rng(0).normal(size=(60, 2))
    for y in (pd.Series(labels, dtype=dtype), pd.array(labels, dtype=dtype)):
        assert clone(model).fit(X, y).classes_.tolist() == [5, 10**17, 10**17 + 1]
    first = clone(model).partial_fit(X, y, classes=pd.array([5, 10**17, 10**17 + 1], dtype=dtype))
    assert first.partial_fit(X, y).classes_.tolist() == [5, 10**17, 10**17 + 1]


def test_nullable_booleans_are_classes():
    y = pd.Series([True, False] * 10, dtype="boolean")
    assert SCNClassifier(**TINY).fit(np.arange(20.0)[:, np.newaxis], y).classes_.tolist() == [False, True]


WITHOUT_PYARROW = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

sys.meta_path.insert(0, Blocked())
"""
OF_ALL_TYPES = """
import pandas as pd
from skscn import SCNClassifier, SCNRegressor

frame = pd.DataFrame({
    "town": ["Rome", "Oslo", "Bern"] * 20, "size": range(60), "when": pd.date_range("2024", periods=60),
    "kind": pd.Categorical(["a", None, "b"] * 20), "price": ["1,5", "2,5", "?"] * 20,
})
for model in (SCNRegressor(max_nodes=2), SCNClassifier(max_nodes=2)):
    assert len(model.fit(frame, frame["size"] % 5).predict(frame)) == 60
"""


OF_A_SERIES = """
import numpy as np
import pandas as pd
from skscn import TableModel, assess, load_model

frame = pd.DataFrame({
    "when": pd.date_range("2024", periods=240, freq="h", tz="Europe/Rome"), "machine": ["a", "b"] * 120,
    "load": np.random.default_rng(0).normal(size=240),
})
frame["output"] = frame["load"] + (frame["machine"] == "a")
model = TableModel("output", estimator="network", parameters={"max_nodes": 3}).fit(frame[:200])
assert model.encoder_.time_ == "when"
model.save("model.scn")
assert assess(load_model("model.scn"), frame[200:]).n_rows == 40
model.update(frame[200:])
assert model.follow().predict_one(frame.iloc[0].to_dict()) < 9.0
for about in ({"lags": [1, 2]}, {"estimator": "recurrent"}, {"lags": [1], "group": "machine"}):
    series = TableModel("output", **{"estimator": "network", "time": "when", "parameters": {"max_nodes": 3}, **about})
    assert len(series.fit(frame[:200]).predict(frame[200:])) == 40
"""
(README,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("program", [OF_ALL_TYPES, OF_A_SERIES, README], ids=["all types", "a series", "README"])
def test_frames_are_read_without_pyarrow(tmp_path, program):
    command = [sys.executable, "-c", WITHOUT_PYARROW + program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


# ---- columns of unusual types


ROWS = np.arange(30)


@pytest.mark.parametrize(
    ("values", "encoded"),
    [
        (pd.to_timedelta(ROWS, unit="ns"), ROWS / 1000.0),
        (pd.Series([10**40 + int(row) for row in ROWS % 2], dtype=object), None),
        (pd.Series([10**40 * int(row) for row in ROWS], dtype=object), 1e40 * ROWS),
        (pd.Series([10**400, *map(int, ROWS[1:])], dtype=object), np.where(ROWS == 0, np.nan, ROWS)),
        (pd.Series([Decimal(int(row)) for row in ROWS], dtype=object), ROWS),
        (pd.Series([pd.NA, *map(float, ROWS[1:])], dtype=object), np.where(ROWS == 0, np.nan, ROWS)),
    ],
    ids=["nanoseconds", "equal as floats", "large", "beyond floats", "decimals", "NA"],
)
def test_numbers_of_unusual_types_keep_their_values(values, encoded):
    frame = pd.DataFrame({"a": values, "town": ["Rome", "Oslo"] * 15})
    encoder = SCNRegressor(**TINY).fit(frame, ROWS).encoder_
    if encoded is None:
        assert encoder.table.left_out_ == ["a"]
    else:
        np.testing.assert_allclose(encoder.table.transform(frame)[:, 0], encoded)


@pytest.mark.parametrize(
    "values", [pd.cut(ROWS, 3), pd.Series(np.array(pd.cut(ROWS, 3)))], ids=["categories", "objects"]
)
def test_intervals_are_categories(values):
    frame = pd.DataFrame({"a": values})
    column = SCNRegressor(**TINY).fit(frame, ROWS).encoder_.table.columns_[0]
    assert sorted(column.categories) == sorted(
        map(str, values.categories if hasattr(values, "categories") else set(values))
    )


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (pd.DataFrame({"a": ROWS + 1j}), "Column 'a' holds complex numbers; give their real and imaginary parts"),
        (
            pd.DataFrame({"a": [10**5000, "x"] * 15}, dtype=object),
            "Column 'a' holds values of several kinds, number and text; convert",
        ),
        (pd.DataFrame([["x", "y"]] * 30, columns=["a", "a"]), "There are several columns 'a'; rename all but one"),
        (pd.DataFrame(index=range(30)), "X has no columns; give it at least one"),
        (pd.DataFrame({"a": [np.inf, *ROWS[1:]]}), "infinity.*: column 'a'; correct these values, or leave them empty"),
    ],
    ids=["complex", "several kinds", "names", "no columns", "infinite"],
)
def test_what_cannot_be_learnt_is_refused_by_name(frame, sentence):
    with pytest.raises(ValueError, match=sentence):
        SCNRegressor(**TINY).fit(frame, ROWS)


def test_a_lazy_frame_has_to_be_collected():
    frame = pl.DataFrame({"a": ROWS, "town": ["Rome", "Oslo"] * 15})
    model = SCNRegressor(**TINY)
    with pytest.raises(TypeError, match=r"LazyFrame.*pass X.collect\(\)"):
        model.fit(frame.lazy(), ROWS)
    with pytest.raises(TypeError, match=r"LazyFrame.*pass X.collect\(\)"):
        model.fit(frame, ROWS).predict(frame.lazy())


def test_a_model_of_numbers_reads_columns_of_objects():
    model = SCNRegressor(**TINY).fit(pd.DataFrame({"a": ROWS, "b": ROWS % 7.0}), ROWS)
    wanted = model.predict(pd.DataFrame({"a": [1.0, np.nan], "b": [2.0, 3.0]}))
    new = pd.DataFrame({"a": pd.Series([1, pd.NA], dtype=object), "b": ["2", "3.0"]})
    np.testing.assert_array_equal(model.predict(new), wanted)
    with pytest.raises(ValueError, match="Column 'b' holds 'x', where it held numbers in training"):
        model.predict(new.assign(b=["2", "x"]))


OF_NUMBERS = [
    OnlineSCNRegressor(random_state=0),
    OnlineSCNClassifier(random_state=0),
    RecurrentSCNRegressor(max_candidates=5, **TINY),
    SCNRegressor(categorical_features=None, **TINY),
]


@pytest.mark.parametrize("model", OF_NUMBERS, ids=lambda model: type(model).__name__)
def test_estimators_that_do_not_encode_read_numbers_and_name_other_columns(model):
    frame, y = pd.DataFrame({"a": ROWS % 7.0, "b": ROWS}, index=ROWS + 5), ROWS % 2
    objects = frame.astype({"b": object})
    fitted = clone(model).fit(frame, y)
    wanted = fitted.predict(frame)
    np.testing.assert_array_equal(clone(model).fit(objects, y).predict(objects.assign(b=objects["b"].map(str))), wanted)
    for values, held in (
        (["x"] * 30, "'x'"),
        (pd.date_range("2024", periods=30), "dates"),
        (ROWS + 1j, "complex numbers"),
        ([[1]] * 30, "values of type list"),
        ([1, "x"] * 15, "values of several kinds"),
    ):
        other = frame.assign(b=pd.Series(values, dtype=object, index=frame.index))
        with pytest.raises(ValueError, match=f"Column 'b' holds {held}"):
            clone(model).fit(other, y)
        with pytest.raises(ValueError, match=f"Column 'b' holds {held}"):
            fitted.predict(other)


def test_missing_values_of_a_sequence_are_named():
    frame = pd.DataFrame({"a": ROWS, "b": pd.Series([1, pd.NA, 3] * 10, dtype=object)})
    with pytest.raises(ValueError, match="missing or infinite values, first in row 1, column 'b'"):
        RecurrentSCNRegressor(max_candidates=5, **TINY).fit(frame, ROWS)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_text_of_all_arrow_types(tmp_path, kind):
    table = pa.table({"a": ROWS, "town": pa.array(["Rome", "Oslo", None] * 10, kind)})
    model = SCNRegressor(**TINY).fit(table, ROWS)
    np.testing.assert_array_equal(model.predict(table.slice(2, 1)), model.predict(table)[2:3])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(table.slice(0, 0))
    with pa.ipc.new_file(tmp_path / "table.arrow", table.schema) as file:
        file.write_table(table)
    for rows in (table, tmp_path / "table.arrow"):
        whole = TableModel("a", estimator="network", folds=2, parameters={"max_nodes": 2}).fit(rows)
        assert len(whole.predict(rows)) == 30


# ---- columns of all types


def gaps(rng, values, gap=None):
    return [gap if rng.random() < 0.2 else value for value in values]


def text(rng, n):
    """Text of all shapes."""
    kind = rng.integers(8)
    if kind == 0:
        return rng.choice(SHORT, n).tolist()
    if kind == 1:
        return [
            f"{value:,.{rng.integers(3)}f}{rng.choice(['', ' %', ' °C', '€'])}" for value in 1e4 * rng.normal(size=n)
        ]
    if kind == 2:
        written = str(rng.choice(["%Y-%m-%d", "%d.%m.%Y %H:%M", "%m/%d/%y", "%d %b %Y", "%Y-%m-%dT%H:%M:%SZ", "%H:%M"]))
        return [(START + timedelta(hours=int(hours))).strftime(written) for hours in rng.integers(0, 90000, n)]
    if kind == 3:
        return rng.choice(["", " ", "?", "NA", "nan", "x", "\0", "\n", "a\nb", "\ud800", "é", "1\n2", "٣"], n).tolist()
    if kind == 4:
        return [f"id {place}" for place in range(n)]
    return [f"c{code}" for code in rng.integers(0, rng.integers(1, 30), n)]


def objects(rng, n):
    """Python objects, of one kind or of several."""
    makers = [
        lambda: int(rng.integers(100)),
        lambda: 10 ** int(rng.choice([40, 400, 5000])),
        lambda: float(rng.normal()),
        lambda: float(rng.choice([np.inf, -np.inf, np.nan])),
        lambda: Decimal(str(rng.choice(["1.50", "NaN", "sNaN", "Infinity", "1e999", "3"]))),
        lambda: complex(rng.normal(), 1.0),
        lambda: bool(rng.integers(2)),
        lambda: str(rng.choice(SHORT)),
        lambda: bytes(rng.choice(SHORT), "ascii"),
        lambda: START + timedelta(hours=int(rng.integers(9999))),
        lambda: (START + timedelta(hours=int(rng.integers(9999)))).replace(tzinfo=UTC),
        lambda: date(2024, 1, int(rng.integers(1, 28))),
        lambda: time(int(rng.integers(24))),
        lambda: timedelta(seconds=int(rng.integers(9999))),
        lambda: np.datetime64(int(rng.integers(9999)), "D"),
        lambda: [1],
        lambda: {"a": 1},
        lambda: Fraction(1, 3),
        lambda: np.float32(rng.normal()),
        lambda: pd.Interval(0, int(rng.integers(1, 4))),
        lambda: pd.Period("2024-01", freq="M"),
        object,
    ]
    chosen = rng.choice(len(makers), rng.choice([1, 1, 1, 2]))
    made = [makers[rng.choice(chosen)]() for _ in range(n)]
    return [rng.choice([None, pd.NA, np.nan, pd.NaT]) if rng.random() < 0.1 else value for value in made]


def pandas_column(rng, n):
    numbers, whole = rng.normal(size=n), rng.integers(-5, 100, n)
    days = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(whole, unit="D"))
    makers = [
        lambda: numbers,
        lambda: pd.Series(np.where(rng.random(n) < 0.2, rng.choice([np.nan, np.inf]), numbers)),
        lambda: pd.Series(whole, dtype=str(rng.choice(["int8", "int64", "Int64", "Int8", "int64[pyarrow]"]))),
        lambda: pd.Series(gaps(rng, whole), dtype=str(rng.choice(["Int64", "Float32", "float64[pyarrow]"]))),
        lambda: pd.Series(gaps(rng, numbers > 0), dtype=str(rng.choice(["boolean", "bool[pyarrow]", "object"]))),
        lambda: pd.Series(gaps(rng, text(rng, n)), dtype=object),
        lambda: pd.Series([value.replace("\ud800", "") for value in text(rng, n)], dtype="string"),
        lambda: pd.Series(pd.Categorical(gaps(rng, rng.choice([["a", "b"], [1, 2], [1.5, 2.0]][rng.integers(3)], n)))),
        lambda: pd.Series(pd.cut(numbers, 4)),
        lambda: pd.Series(pd.arrays.IntervalArray.from_breaks(np.arange(n + 1))),
        lambda: pd.Series(pd.period_range("2024-01", periods=n, freq="M")),
        lambda: days.where(rng.random(n) < 0.8).astype(f"datetime64[{rng.choice(['s', 'ms', 'us', 'ns'])}]"),
        lambda: days.dt.tz_localize("Europe/Rome"),
        lambda: pd.Series(whole.astype(f"timedelta64[{rng.choice(['s', 'ms', 'us', 'ns'])}]")),
        lambda: pd.Series(pd.to_timedelta(gaps(rng, whole), unit="ns")),
        lambda: numbers + 1j,
        lambda: pd.Series(pd.arrays.SparseArray(np.where(whole > 9, 0.0, numbers))),
        lambda: pd.Series([Decimal(int(value)) for value in whole], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
        lambda: pd.Series(days.dt.date, dtype=str(rng.choice(["object", "date32[pyarrow]"]))),
        lambda: pd.Series(objects(rng, n), dtype=object),
    ]
    return makers[rng.integers(len(makers))]()


def polars_column(rng, n):
    whole = rng.integers(0, 100, n).tolist()
    makers = [
        lambda: pl.Series(rng.normal(size=n)),
        lambda: pl.Series(
            gaps(rng, whole),
            # Not all versions have 128 bits.
            dtype=[pl.Int8, pl.UInt64, getattr(pl, "Int128", pl.Int64), pl.Float32, pl.Decimal][rng.integers(5)],
        ),
        lambda: pl.Series(gaps(rng, [value > 50 for value in whole])),
        lambda: pl.Series(gaps(rng, [value.replace("\ud800", "") for value in text(rng, n)])),
        lambda: pl.Series(gaps(rng, [f"c{value % 3}" for value in whole]), dtype=pl.Categorical),
        lambda: pl.Series(gaps(rng, ["b" if value > 50 else "a" for value in whole]), dtype=pl.Enum(["a", "b"])),
        lambda: pl.Series(gaps(rng, [START + timedelta(hours=value) for value in whole])),
        lambda: pl.Series([START + timedelta(hours=value) for value in whole]).dt.replace_time_zone("Europe/Rome"),
        lambda: pl.Series(gaps(rng, [date(2024, 1, 1) + timedelta(value) for value in whole])),
        lambda: pl.Series(gaps(rng, [time(value % 24) for value in whole])),
        lambda: pl.Series(whole).cast(pl.Duration(str(rng.choice(["ns", "us", "ms"])))),
        lambda: pl.Series(gaps(rng, [[value] for value in whole])),
        lambda: pl.Series(gaps(rng, [{"a": value} for value in whole])),
        lambda: pl.Series(gaps(rng, [bytes([value]) for value in whole])),
        lambda: pl.Series([None] * n),
    ]
    return makers[rng.integers(len(makers))]()


def arrow_column(rng, n):
    whole = rng.integers(0, 100, n).tolist()
    makers = [
        lambda: pa.array(
            gaps(rng, whole), [pa.int8(), pa.uint64(), pa.float64(), pa.decimal128(9, 2)][rng.integers(4)]
        ),
        lambda: pa.array(gaps(rng, [value > 50 for value in whole])),
        lambda: pa.array(gaps(rng, [value.replace("\ud800", "") for value in text(rng, n)]), pa.string()),
        lambda: pa.array(gaps(rng, [value % 4 for value in whole])).dictionary_encode(),
        lambda: pa.array(gaps(rng, whole), pa.timestamp(str(rng.choice(["s", "ms", "us", "ns"])), "Europe/Rome")),
        lambda: pa.array(gaps(rng, whole), pa.duration("ns")),
        lambda: pa.array(gaps(rng, whole), pa.date32()),
        lambda: pa.array(gaps(rng, whole), pa.int32()).cast(pa.time32("s")),
        lambda: pa.array(gaps(rng, [[value] for value in whole])),
        lambda: pa.array(gaps(rng, [b"x", b"y"] * (n // 2))),
        lambda: pa.nulls(n),
    ]
    return makers[rng.integers(len(makers))]()


START = datetime(2024, 1, 1)
COLUMNS = {"pandas": pandas_column, "polars": polars_column, "pyarrow": arrow_column}


def columns_at_random(rng, package, n):
    count = rng.integers(1, 4)
    return {f"column {place}": COLUMNS[package](rng, n) for place in range(count)}


def try_frame(seed):
    """Fit and predict; what is refused is refused with a sentence about a column."""
    rng = np.random.default_rng(seed)
    package = list(PACKAGES)[rng.integers(len(PACKAGES))]
    make, n = PACKAGES[package], 24
    columns = columns_at_random(rng, package, n)
    other = {**columns, **dict(list(columns_at_random(rng, package, n).items())[: len(columns) * (rng.random() < 0.5)])}
    other = {name: other[name] for name in columns}
    frame, new = make(columns), make(other)
    try:
        model = IRVFLRegressor(max_nodes=3, random_state=0).fit(frame, np.arange(float(n)))
        assert np.isfinite(model.predict(frame)).all()
        assert np.isfinite(model.predict(new)).all()
    except (ValueError, TypeError) as refusal:
        if type(refusal) not in (ValueError, TypeError) or "column " not in str(refusal):
            raise AssertionError(f"{seed}: {refusal!r}") from refusal
        return str(refusal)
    return None


@pytest.mark.parametrize("seed", range(40))
def test_a_frame_is_learnt_or_refused_with_a_sentence_about_a_column(seed):
    try_frame(seed)


@pytest.mark.slow
def test_many_frames_are_learnt_or_refused_with_a_sentence_about_a_column():
    refused = [try_frame(seed) for seed in range(1000, 1300)]
    assert sum(sentence is None for sentence in refused) > 150


@pytest.mark.parametrize("library", [pd, pl])
def test_a_series_is_no_table(library):
    with pytest.raises(TypeError, match="A table must be a path, a data frame.*not Series"):
        as_file(library.Series([1.0, 2.0]))
