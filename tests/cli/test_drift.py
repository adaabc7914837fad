"""What changes with time: noticed where it does, however good the tests look, and not where rows stay as they were."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from skscn import TableModel
from skscn.judging.drift import (
    PredictedRows,
    changing_gain,
    changing_level,
    later_r2,
    later_share,
    rising_error,
    wandering_level,
)
from skscn.judging.held_out import Ahead, HeldOutPart, HeldOutTests
from skscn.judging.scores import regression_scores

QUICK = ["--estimator", "network", "--set", "max_nodes=30", "--jobs", "1"]
TIME = np.linspace(-0.5, 0.5, 1200)


def wandering(rng, n_rows, memory):
    """An AR(1) process of variance 1."""
    values = rng.normal(size=n_rows)
    for row in range(1, n_rows):
        values[row] = memory * values[row - 1] + np.sqrt(1.0 - memory**2) * values[row]
    return values


def course(seed=0, level=0.0, gain=0.0, growth=0.0, memory=0.0, noise=0.2):
    """A model that is right on average, of rows whose level, gain or noise changes by this much, or by nothing."""
    rng = np.random.default_rng(seed)
    signal = wandering(rng, len(TIME), 0.9)
    errors = noise * np.exp(growth * TIME) * wandering(rng, len(TIME), memory)
    return PredictedRows((1.0 + gain * TIME) * signal + level * TIME + errors, signal)


def what_changes(courses):
    """The names of the changes that are noticed."""
    found = {
        "level": changing_level(courses),
        "gain": changing_gain(courses),
        "error": rising_error(courses[0]) or None,
        "wander": wandering_level(courses),
    }
    return {name for name, change in found.items() if change is not None}


@pytest.mark.parametrize(("change", "name"), [("level", "level"), ("gain", "gain"), ("growth", "error")])
@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_what_changes_is_noticed_however_small_the_error_is(change, name, noise):
    size = {"level": 3.0 * noise, "gain": -2.0 * noise, "growth": 1.2}[change]
    changed = course(noise=noise, **{change: size})
    assert name in what_changes([changed])
    # As an offset and a factor do not matter, units of the target do not.
    assert what_changes([PredictedRows(7.0 - 1000.0 * changed.y, 7.0 - 1000.0 * changed.predicted)]) == what_changes(
        [changed]
    )


def test_the_ends_of_a_change_are_those_of_the_rows():
    level = changing_level([course(level=1.0)])
    assert (level.first, level.last) == (pytest.approx(-0.5, abs=0.1), pytest.approx(0.5, abs=0.1))
    gain = changing_gain([course(gain=-0.6)])
    assert (gain.first, gain.last) == (pytest.approx(1.3, abs=0.1), pytest.approx(0.7, abs=0.1))


def test_a_season_is_noticed_although_it_comes_back():
    still = course()
    season = PredictedRows(still.y + 0.3 * np.sin(2.0 * np.pi * TIME), still.predicted)
    assert "wander" in what_changes([season])


def test_what_each_of_two_courses_shows_less_clearly_is_noticed():
    """Fouling that is washed off from time to time."""
    rng = np.random.default_rng(5)
    washed = np.cumsum(rng.random(1200) < 1.0 / 150.0)
    since = np.arange(1200) - np.searchsorted(washed, washed)
    fouled = [PredictedRows(one.y - 0.002 * since, one.predicted) for one in (course(0), course(1))]
    assert [wandering_level([one]) for one in fouled] == [None, None]
    assert "wander" in what_changes(fouled)


@pytest.mark.parametrize("memory", [0.0, 0.9, 0.97])
def test_few_alarms_where_nothing_changes_although_errors_last(memory):
    """Tests and training rows are looked at together, as they are in a fit."""
    draws = [[course(2 * seed, memory=memory), course(2 * seed + 1, memory=memory)] for seed in range(60)]
    assert sum(bool(what_changes(draw)) for draw in draws) <= 60 / 12


def test_few_rows_say_nothing():
    few = course(level=5.0)
    assert what_changes([PredictedRows(few.y[:100], few.predicted[:100])]) == set()
    assert later_r2(PredictedRows(few.y[:100], few.predicted[:100])) is None


def test_predictions_that_never_move_and_perfect_ones_are_no_change():
    y = np.random.default_rng(0).normal(size=1200)
    assert what_changes([PredictedRows(y, np.zeros(1200))]) == set()
    assert what_changes([PredictedRows(y, y)]) == set()
    assert later_r2(PredictedRows(y, y)) is None


# ---- how far R² may be off


def test_parts_that_differ_make_r2_uncertain():
    """Parts of 0.75, 0.80 and 0.39 are no estimate of 0.65 ± 0.05."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=1200)
    even, uneven = (
        PredictedRows(y, y + np.repeat(np.sqrt(1.0 - np.array(parts)), 400) * rng.normal(size=1200))
        for parts in ((0.65, 0.65, 0.65), (0.75, 0.80, 0.39))
    )
    low, high = later_r2(uneven)
    assert low < 0.5 < 0.75 < high
    assert np.subtract(*later_r2(even)[::-1]) < 0.12


def test_r2_of_later_rows_is_within_its_range_in_most_cases():
    held = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = wandering(rng, 2400, 0.97)
        errors = 0.4 * wandering(rng, 2400, 0.9)
        low, high = later_r2(PredictedRows(y[:1200], y[:1200] + errors[:1200]))
        held.append(low <= 1.0 - np.mean(errors[1200:] ** 2) / np.var(y[1200:]) <= high)
    assert np.mean(held) > 0.85


def test_intervals_hold_what_their_range_says_in_most_cases():
    held = []
    for seed in range(60):
        inside = np.abs(wandering(np.random.default_rng(seed), 2400, 0.95)) < 1.3
        low, high = later_share(inside[:1200])
        held.append(low <= inside[1200:].mean() <= high)
    assert np.mean(held) > 0.85
    by_chance = [later_share(np.random.default_rng(seed).random(1200) < 0.9) for seed in range(20)]
    assert np.median([high - low for low, high in by_chance]) < 0.1
    assert later_share(inside[:100]) is None


# ---- what is said


def validated(ahead, inside=None, within=0.9, beyond=None):
    """Tests in three parts, whose models all predict what the first one does."""
    parts = []
    for start in range(0, 1200, 400):
        rest = PredictedRows(ahead.y[start:], ahead.predicted[start:])
        own = rest.y[:400], rest.predicted[:400]
        scores = regression_scores(*own), regression_scores(own[0], np.zeros(400))
        further = Ahead(*rest, *(None if rows is None else rows[start:] for rows in (inside, beyond)))
        parts.append(HeldOutPart(*own, np.arange(400), *scores, within, ahead=further))
    return HeldOutTests(parts, 5, "predicting the mean", ordered=True, early_variance=float(ahead.y.var()))


def test_a_decay_is_said_without_a_figure_for_later_rows():
    tests = validated(course(gain=-0.4, noise=0.15))
    assert tests.value("r2") > 0.9
    (warning,) = map(str, tests.cautions())
    assert "R² and intervals cannot be trusted for later rows" in warning
    assert "where predictions differ by 1, targets differ by 1.2" in warning
    assert "RMSE" not in warning
    # Rows that were recorded wrongly explain it.
    assert tests.cautions(faulty=True) == []


def test_the_range_of_r2_is_part_of_the_result():
    tests = validated(course())
    low, high = tests.facts()["later_r2"]
    assert low < tests.value("r2") < high
    assert any(f"{low:.2f} to {high:.2f}" in text for heading, text in tests.lines() if heading == "R²")


def test_the_range_of_intervals_is_part_of_the_result():
    tests = validated(course(), np.random.default_rng(0).random(1200) < 0.9)
    low, high = tests.facts()["later_interval_90"]
    assert low < 0.9 < high
    assert any(f"{low:.0%} to {high:.0%}" in text for heading, text in tests.lines() if heading == "Intervals")


def test_errors_outside_the_range_of_earlier_rows_are_remarked_on():
    rng = np.random.default_rng(0)
    beyond = rng.random(1200) < 0.2
    steady = course()
    larger = PredictedRows(steady.y, steady.predicted + np.where(beyond, 0.9, 0.5) * rng.normal(size=1200))
    (caution,) = validated(larger, beyond=beyond).cautions()
    assert caution.code == "moving"
    assert "Errors are larger where inputs leave the range of earlier rows: RMSE is 0.9" in str(caution)
    assert "in the 20% of the test rows with such inputs, and 0.5" in str(caution)
    # Errors that are as large inside, and few rows outside.
    assert validated(steady, beyond=beyond).cautions() == []
    assert validated(larger, beyond=beyond & (rng.random(1200) < 0.3)).cautions() == []


def test_intervals_that_hold_less_further_on_are_remarked_on():
    rng = np.random.default_rng(0)
    inside = rng.random(1200) < np.repeat([0.92, 0.7, 0.4], 400)
    (caution,) = validated(course(), inside).cautions()
    warning = str(caution)
    assert (
        "Intervals are too narrow for rows further ahead: in the rows after each part, those for 90% contained 5"
        in warning
    )
    assert validated(course(), rng.random(1200) < 0.9).cautions() == []


@pytest.mark.parametrize("options", [{}, {"lags": [1, 2]}, {"estimator": "ensemble", "parameters": {"n_members": 2}}])
def test_the_model_of_each_part_predicts_all_rows_after_it(plants, tmp_path, options):
    columns = plants.PLANTS["evaporator"](800, 0)
    path = plants.write(tmp_path / "plant.csv", columns, slice(0, 800))
    about = {"estimator": "network", **options}
    about["parameters"] = {**about.get("parameters", {}), "max_nodes": 4}
    tests = TableModel(plants.target_of(columns), **about).fit(path).assessment_.tests
    rest = sum(len(part.y) for part in tests.parts)
    for part in tests.parts:
        assert len(part.ahead.y) == rest
        np.testing.assert_array_equal(part.ahead.predicted[: len(part.y)], part.predicted)
        np.testing.assert_array_equal(part.ahead.y[: len(part.y)], part.y)
        rest -= len(part.y)
    assert len(tests.training.y) > 0.9 * 800


def fit(skscn, plants, tmp_path, name, seed, *options):
    """What fit says about the first half of a plant's rows, as JSON."""
    columns = plants.PLANTS[name](3000, seed)
    path = plants.write(tmp_path / "known.csv", columns, slice(0, 1500))
    target = plants.target_of(columns)
    return json.loads(
        skscn("fit", path, "-t", target, "-m", tmp_path / "m.scn", "--json", "--quiet", *QUICK, *options).stdout
    )


def test_a_plant_that_decays_is_cautioned_although_r2_is_above_095(skscn, plants, tmp_path):
    said = fit(skscn, plants, tmp_path, "converter", 10)
    assert said["tested"]["r2"]["mean"] > 0.95
    (warning,) = said["warnings"]
    assert "Something that the inputs do not show changes with time" in warning


@pytest.mark.parametrize("name", ["mixer", "dryer", "cooling_tower"])
def test_steady_plants_are_not_said_to_drift(skscn, plants, tmp_path, name):
    said = fit(skscn, plants, tmp_path, name, 11)
    assert not any("changes" in text or "drift" in text for text in said["warnings"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["evaporator", "pump", "analyser", "thermocouple", "frozen_input", "percent"])
def test_the_benchmark_counts_no_plant_as_misleading(plants, name):
    record = plants.measure(name, 3, 2000, ["--estimator", "network"])
    assert record["outcome"] in ("honest", "cautioned", "named")


def test_the_outcome_of_a_plant(plants):
    def outcome(said, found, kind, *cautions):
        return plants.outcome(vars(SimpleNamespace(said=said, found=found, kind=kind, cautions=cautions)))

    assert outcome(0.9, 0.8, "steady") == "honest"
    assert outcome(0.9, 0.8, "steady", "R² cannot be trusted") == "false alarm"
    assert outcome(0.9, 0.8, "changing", "R² cannot be trusted") == "honest"
    assert outcome(0.9, 0.7, "steady", "R² cannot be trusted") == "cautioned"
    assert outcome(0.9, 0.7, "changing", "Intervals are too narrow") == "misleading"
    assert outcome(0.9, 0.7, "faulty", "its sensor looks frozen") == "named"
    assert outcome(0.9, 0.7, "faulty", "something drifts") == "unnamed"
