"""Models that run live: late targets, repeated and wrong rows, implausible targets, and restarts."""

import json

import numpy as np
import pandas as pd
import pytest

from skscn import TableModel, load_model
from skscn.datasets import EXAMPLES
from skscn.table_model import LiveModel

N_KNOWN, N_LATER = 300, 120


@pytest.fixture(scope="module")
def rows():
    return pd.DataFrame(EXAMPLES["plant"](N_KNOWN + N_LATER, random_state=0))


@pytest.fixture(scope="module", params=["network", "lags", "recurrent"])
def model(request, rows):
    options = {"network": {"estimator": "network"}, "recurrent": {"estimator": "recurrent"}}
    options["lags"] = {"estimator": "network", "lags": [1, 3], "delay": 5}
    parameters = {"max_nodes": 8}
    return TableModel("quality", time="time", folds=0, parameters=parameters, **options[request.param]).fit(
        rows[:N_KNOWN]
    )


@pytest.fixture
def later(rows):
    return [{**row, "time": str(row["time"])} for row in rows[N_KNOWN:].to_dict("records")]


def disturbed(later, seed=0):
    """The calls for rows with gaps and spikes, whose targets come 5 to 50 rows late: method, row, target."""
    rng, calls, waiting = np.random.default_rng(seed), [], []
    for number, row in enumerate(later):
        target, row = row["quality"], {name: value for name, value in row.items() if name != "quality"}
        if rng.random() < 0.1:
            row["feed"] = np.nan
        if rng.random() < 0.05:
            row["steam"] = 1e7
        calls.append(("predict", row, None))
        if rng.random() < 0.05:
            calls.append(("predict", row, None))
            calls.append(("predict", later[max(0, number - 60)] | {"time": "2020-01-01 00:00:00"}, None))
        waiting.append((number + int(rng.integers(5, 50)), row, 1e9 if rng.random() < 0.03 else target))
        due, waiting = [w for w in waiting if w[0] <= number], [w for w in waiting if w[0] > number]
        calls += [("learn", row, target) for _, row, target in due]
    return calls


def answers(live, calls):
    found = []
    for method, row, target in calls:
        try:
            found.append(live.predict_one(row) if method == "predict" else live.learn_one(row, target))
        except ValueError as error:
            found.append(str(error))
    return found


def test_targets_that_come_late_are_learnt_and_bad_ones_set_aside(model, later):
    calls = disturbed(later)
    live = model.follow()
    found = answers(live, calls)
    bad = sum(target == 1e9 for method, _, target in calls if method == "learn")
    assert live.n_set_aside == bad > 0
    assert live.n_learnt == sum(method == "learn" for method, _, _ in calls) - bad
    numbers = np.array([value for value in found if isinstance(value, float)])
    assert np.isfinite(numbers).all()
    assert np.ptp(numbers) < 10 * np.ptp([row["quality"] for row in later])
    assert any(isinstance(value, str) and "rows must come in order of time" in value for value in found)


def test_a_row_that_is_repeated_gets_the_same_answer(model, later):
    live = model.follow()
    first = [live.predict_one(row) for row in later[:20]]
    assert [live.predict_one(row) for row in later[:20]] == first
    assert live.n_answered == 20


@pytest.mark.parametrize("seed", range(3))
def test_killed_and_restarted_it_goes_on_with_the_same_answers(model, later, tmp_path, seed):
    calls, rng = disturbed(later, seed), np.random.default_rng(seed)
    undisturbed = answers(model.follow(), calls)
    path, found, place = tmp_path / "journal", [], 0
    while place < len(calls):
        live = LiveModel(model, journal=path)
        stop = place + int(rng.integers(1, 60))
        found[place:] = answers(live, calls[place:stop])
        live.close()
        # The last line may be half written when the program is killed; the row then comes again.
        whole = path.read_bytes()
        cut = int(rng.integers(0, len(whole.splitlines()[-1]) + 1)) if rng.random() < 0.5 else 0
        path.write_bytes(whole[: len(whole) - cut])
        place = min(stop, len(calls)) - (cut > 0)
        found = found[:place]
        if stop >= len(calls) and not cut:
            break
    assert found == undisturbed


def test_a_target_that_comes_again_is_learnt_once(model, later, tmp_path):
    once = model.follow()
    calls = [call for row in later[:20] for call in (("predict", row, None), ("learn", row, row["quality"]))]
    answers(once, calls)
    for _ in range(2):
        with LiveModel(model, journal=tmp_path / "journal") as live:
            answers(live, calls)
    assert live.n_learnt == 20
    with LiveModel(model, journal=tmp_path / "journal") as live:
        assert live.predict_one(later[20]) == once.predict_one(later[20])
        live.learn_one(later[19], later[19]["quality"] + 0.1)
        assert live.n_learnt == 21


def test_without_learning_nothing_is_learnt(model, later):
    live = model.follow(learn=False)
    live.predict_one(later[0])
    live.learn_one(later[0], later[0]["quality"])
    assert live.n_learnt == 0


def robust(rows, **options):
    options |= {"estimator": "network", "loss": "welsch", "parameters": {"max_nodes": 4}}
    return TableModel("quality", time="time", folds=0, **options).fit(rows[:N_KNOWN])


def test_losses_that_cannot_be_updated_refuse_to_learn(rows, later):
    model = robust(rows)
    with pytest.raises(ValueError, match="fit all rows again") as refused:
        model.update(rows[N_KNOWN:])
    live = model.follow()
    live.predict_one(later[0])
    with pytest.raises(ValueError, match="fit all rows again") as live_refused:
        live.learn_one(later[0], later[0]["quality"])
    assert str(live_refused.value) == str(refused.value)
    assert live.n_learnt == 0


def test_targets_may_be_inputs_where_output_weights_cannot_be_updated(rows, later):
    model = robust(rows, lags=[1], delay=1)
    assert model.uses_targets
    live, unaware = model.follow(), model.follow()
    assert "output weights are not updated: " in live.events[0]
    for row in later[:5]:
        unaware.predict_one(row)
        live.predict_one(row)
        live.learn_one(row, row["quality"])
    assert live.n_learnt == 0
    assert live.predict_one(later[5]) != unaware.predict_one(later[5])


def test_what_was_learnt_is_saved(model, later, tmp_path):
    live = model.follow()
    for row in later[:60]:
        live.predict_one(row)
        live.learn_one(row, row["quality"])
    live.save(tmp_path / "live.scn")
    saved = load_model(tmp_path / "live.scn")
    assert saved.record_["updated_with"][-1] == {"data": "live rows", "rows": 60}
    rest = pd.DataFrame(later[60:])
    assert len(saved.predict(rest)) == len(rest)
    # The model itself stays as it was.
    assert model.record_.get("updated_with") is None


def test_inputs_outside_the_training_range_are_named(model, later):
    live = model.follow()
    live.predict_one(later[0])
    assert "steam" not in live.outside
    live.predict_one(later[1] | {"steam": 1e6})
    assert "steam" in live.outside


def test_rows_that_cannot_be_answered(model, later):
    live = model.follow()
    with pytest.raises(ValueError, match="The row lacks 'feed'"):
        live.predict_one({name: value for name, value in later[0].items() if name != "feed"})
    with pytest.raises(ValueError, match="was not answered, or too long ago"):
        live.learn_one(later[0], 1.0)


def test_a_journal_is_lines_of_json(model, later, tmp_path):
    with LiveModel(model, journal=tmp_path / "journal") as live:
        live.predict_one(later[0])
        live.learn_one(later[0], 1.5)
    calls = [json.loads(line) for line in (tmp_path / "journal").read_text(encoding="utf-8").splitlines()]
    assert [call[0] for call in calls] == ["predict", "learn"]


def test_a_target_that_is_set_aside_is_written_out(model, later):
    live = model.follow()
    live.predict_one(later[0])
    live.learn_one(later[0], 99999.0)
    assert "recent ones: 99,999. It is learnt" in live.events[-1]
