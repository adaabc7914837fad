"""Inputs outside what training saw."""

import json

import numpy as np
import pandas as pd
import pytest

from skscn.tables import TableEncoder, outside_sentences
from skscn.tables.row_encoder import with_targets

N = 3000


@pytest.fixture(scope="module")
def training():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "PI_301 bar": np.append(rng.uniform(1.2, 2.2, N - 1), 2.3),
            "TI_1": rng.normal(80.0, 2.0, N),
            "day": pd.Timestamp("2025-01-01") + pd.to_timedelta(np.arange(N) % 300, "D"),
            "town": rng.choice(["Rome", "Oslo"], N),
            "on": rng.random(N) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def encoder(training):
    return TableEncoder().fit(training)


def test_nothing_is_outside_in_training(encoder, training):
    assert encoder.outside(training) == []
    assert outside_sentences([]) == []


def test_another_unit_is_asked_for(encoder, training):
    later = training.assign(**{"PI_301 bar": training["PI_301 bar"] * 1000.0})
    later.loc[:9, "PI_301 bar"] = 2.0
    (column,) = encoder.outside(later)
    assert (column.rows, column.below, column.above, column.unit) == (N, 0, N - 10, True)
    assert str(column) == (
        "PI_301 bar: 2,990 of 3,000 rows are above the largest training value 2.3 (up to 2,300). "
        "Is the unit the same as in training?"
    )
    assert column.training == (pytest.approx(1.2, abs=0.01), 2.3)


@pytest.mark.parametrize(
    ("change", "unit"),
    [
        (lambda c: 1.8 * c + 32.0, True),
        (lambda c: c + 273.15, True),
        (lambda c: c / 100.0, True),
        (lambda c: c + 8.0, False),
    ],
    ids=["Fahrenheit", "kelvin", "another prefix", "a shift"],
)
def test_a_shift_is_not_taken_for_another_unit(encoder, training, change, unit):
    (column,) = encoder.outside(training.assign(TI_1=change(training["TI_1"])))
    assert column.notable
    assert column.unit == unit
    assert str(column).endswith("Is the unit the same as in training?" if unit else ").")


def test_a_few_rows_slightly_outside_share_a_line(encoder, training):
    later = training.copy()
    later.loc[0, "TI_1"] = training["TI_1"].max() + 0.5
    later.loc[[1, 2], "PI_301 bar"] = 2.31
    found = encoder.outside(later)
    assert not any(column.notable for column in found)
    assert outside_sentences(found) == ["Slightly outside the training range: PI_301 bar (2 rows), TI_1 (1 row)."]


def test_rows_without_a_value_do_not_hide_one_far_outside():
    frame = pd.DataFrame({"built": np.arange(1900.0, 2000.0), "area": np.arange(100.0)})
    target = np.arange(100.0)[:, np.newaxis]
    encoder, _ = with_targets(TableEncoder().fit(frame), frame, target, np.ones(100))
    new = pd.DataFrame({"built": [3000.0, *[np.nan] * 99], "area": np.arange(100.0)})
    (column,) = encoder.outside(new)
    assert column.notable
    assert (column.smallest, column.largest) == (3000.0, 3000.0)
    encoder.widen(encoder.transform(new))
    assert encoder.outside(new) == []


def test_many_columns_are_not_a_flood():
    X = np.random.default_rng(0).normal(size=(50, 100))
    said = outside_sentences(TableEncoder().fit(X).outside(100.0 * X))
    assert len(said) == 11
    assert said[-1].startswith("Also outside the training range: ")
    assert "and 70 more" in said[-1]


def test_dates_and_categories_are_named(encoder, training):
    later = training.assign(day=training["day"] + pd.Timedelta("30D"), town="Paris")
    said = list(map(str, encoder.outside(later)))
    assert "town: 3,000 rows have categories not seen in training, for example 'Paris'." in said
    assert "day: 300 of 3,000 rows are above the largest training value 2025-10-27 (up to 2025-11-26)." in said


def test_missing_values_are_not_outside(training):
    with_gaps = training.assign(TI_1=training["TI_1"].where(training.index % 7 > 0))
    encoder = TableEncoder().fit(with_gaps)
    assert encoder.outside(with_gaps.assign(TI_1=np.nan)) == []


def test_ranges_are_kept_with_the_encoder(encoder, training):
    kept = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    assert kept.columns_ == encoder.columns_
    later = training.assign(TI_1=0.0)
    assert kept.outside(later) == encoder.outside(later)
    assert json.loads(json.dumps(kept.outside(later)[0].to_json()))["below"] == N


def test_columns_of_earlier_files_have_no_range(encoder, training):
    state = encoder.to_json()
    for column in state["columns"]:
        column.pop("range", None)
    old = TableEncoder.from_json(state)
    assert [column for column in old.outside(training.assign(TI_1=1e9)) if column.kind == "number"] == []


@pytest.mark.parametrize("ends", [[1.0], [2.0, 1.0], [0.0, None], "12", [0.0, True], [0.0, 1e999]])
def test_forged_ranges_are_refused(encoder, ends):
    state = encoder.to_json()
    state["columns"][0]["range"] = ends
    with pytest.raises(ValueError, match="field range"):
        TableEncoder.from_json(state)


def test_huge_numbers(training):
    encoder = TableEncoder().fit(training.assign(TI_1=np.where(training["on"], -8e307, 8e307)))
    (column,) = encoder.outside(training.assign(TI_1=1.7e308))
    assert column.above == N


def test_ranges_widen_with_further_rows(training):
    encoder = TableEncoder().fit(training[:100])
    encoder.widen(encoder.transform(training))
    assert encoder.outside(training) == []
