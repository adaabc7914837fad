"""Values that were recorded wrongly are named as what they are: column, value, how many rows, and which."""

import json

import numpy as np
import pytest

from skscn.judging.faults import find_faults, frozen_runs, marker_rows, unit_changes

QUICK = ["--estimator", "network", "--set", "max_nodes=4", "--jobs", "1", "--json", "--quiet"]


def wandering(n_rows=1000, seed=0, memory=0.9):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n_rows)
    for row in range(1, n_rows):
        values[row] = memory * values[row - 1] + np.sqrt(1.0 - memory**2) * values[row]
    return values.round(4)


# ---- markers


@pytest.mark.parametrize("marker", [-9999.0, 999.0, -99.9, 99999.0, 1e30, 65535.0])
def test_a_marker_is_found_even_once(marker):
    values = wandering()
    values[[7]] = marker
    (rows,) = marker_rows(values)
    assert rows.tolist() == [7]


def test_several_markers_are_found_and_other_values_only_if_they_repeat():
    values = 20.0 + wandering()
    values[[5, 6]], values[[8]] = -9999.0, 9999.0
    assert sorted(row for rows in marker_rows(values) for row in rows) == [5, 6, 8]
    values = wandering()
    values[10] = 500.0
    assert marker_rows(values) == []
    values[11] = 500.0
    assert [rows.tolist() for rows in marker_rows(values)] == [[10, 11]]


@pytest.mark.parametrize(
    "values",
    [
        np.repeat([0.0, 1.0], [990, 10]),
        np.arange(1000.0),
        np.random.default_rng(0).lognormal(size=1000),
        np.minimum(np.random.default_rng(0).exponential(size=1000), 2.0),
        np.random.default_rng(0).poisson(3.0, size=1000).astype(float),
        np.random.default_rng(0).integers(900, 1000, size=1000).astype(float),
        np.r_[np.zeros(400), 100.0 + wandering(600)],
    ],
)
def test_flags_counters_tails_caps_and_counts_are_no_markers(values):
    assert marker_rows(values) == []


# ---- frozen sensors


def test_a_frozen_stretch_is_found():
    values = wandering()
    values[300:380] = values[300]
    (run,) = frozen_runs(values)
    assert (run.start, run.stop) == (300, 380)


def test_set_points_rounded_values_and_closed_valves_are_not_frozen():
    rng = np.random.default_rng(0)
    assert frozen_runs(np.repeat(rng.normal(size=20), 50)) == []
    assert frozen_runs(np.round(wandering(), 0)) == []
    assert frozen_runs((rng.random(1000) < 0.01).astype(float)) == []
    assert frozen_runs(np.r_[rng.integers(2, size=500), np.zeros(100), rng.integers(2, size=400)].astype(float)) == []
    valve = wandering()
    for start in (100, 400, 800):
        valve[start : start + 60] = 0.0
    assert frozen_runs(valve) == []
    assert frozen_runs(np.ones(1000)) == []
    assert frozen_runs(np.arange(5.0)) == []


# ---- units


@pytest.mark.parametrize(("scale", "offset"), [(1.8, 32.0), (1.0, 273.15), (100.0, 0.0), (14.5038, 0.0), (0.001, 0.0)])
@pytest.mark.parametrize("end", [700, 1000])
def test_a_change_of_units_is_found(scale, offset, end):
    values = 60.0 + 3.0 * wandering()
    values[400:end] = scale * values[400:end] + offset
    (change,) = unit_changes(values)
    assert (change.rows.start, change.rows.stop) == (400, end)
    assert (change.scale, change.offset) == (pytest.approx(scale), pytest.approx(offset))


def test_steps_of_a_plant_are_no_change_of_units():
    rng = np.random.default_rng(0)
    levels = np.repeat(rng.normal(size=10), 100)
    assert unit_changes(20.0 + 30.0 * levels + wandering()) == []
    assert unit_changes(levels) == []
    assert all(unit_changes(wandering(seed=seed, memory=0.97)) == [] for seed in range(20))
    assert all(unit_changes(np.random.default_rng(seed).lognormal(sigma=1.5, size=2000)) == [] for seed in range(10))


# ---- what is said


def test_faults_are_named_with_column_value_and_rows():
    clean, frozen, other = wandering(), wandering(seed=1), 60.0 + wandering(seed=2)
    marked = np.r_[np.nan, wandering(seed=3)[1:]]
    marked[[10, 20, 30, 40]] = -9999.0
    frozen[100:150] = 0.125
    other[500:600] = 1.8 * other[500:600] + 32.0
    columns = {"clean": clean, "marked": marked, "frozen": frozen, "other": other}
    marker, freeze, unit = find_faults(columns, np.arange(1, 1001), ordered=True)
    assert [fault.code for fault in (marker, freeze, unit)] == ["marker", "frozen", "units"]
    assert "marked is -9,999 in 4 rows (rows 11, 21, 31 and others, not counting the header)" in str(marker)
    assert "frozen is 0.125 in 50 consecutive rows (from row 101 to row 150" in str(freeze)
    assert "other jumps to 1.8 times its value plus 32 in 100 rows (from row 501 to row 600" in str(unit)
    assert marker.values["rows"].tolist() == [11, 21, 31, 41]
    # Without an order of time, neighbouring rows say nothing.
    assert [fault.code for fault in find_faults(columns, np.arange(1, 1001), ordered=False)] == ["marker"]


@pytest.mark.parametrize("tests", [[], ["--cv", "0"]])
@pytest.mark.parametrize(
    ("name", "column", "words"),
    [
        ("sentinel", "x1", "looks like a marker for a missing value"),
        ("target_sentinel", "y", "looks like a marker for a missing value"),
        ("frozen_input", "x1", "looks frozen"),
        ("fahrenheit", "x2", "its units look different there"),
        ("percent", "y", "its units look different there"),
    ],
)
def test_faults_of_training_rows_are_cautioned_and_not_called_drift(
    skscn, plants, tmp_path, name, column, words, tests
):
    columns = plants.PLANTS[name](2000, 0)
    path = plants.write(tmp_path / "known.csv", columns, slice(0, 1000))
    done = skscn("fit", path, "-t", "y", "-m", tmp_path / "m.scn", *QUICK, *tests)
    warnings = json.loads(done.stdout)["warnings"]
    assert warnings[0].startswith(f"{column} ")
    assert words in warnings[0]
    assert not any("drift" in text or "changes with time" in text for text in warnings)
