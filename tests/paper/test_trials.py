import json

import numpy as np
import pytest

from skscn.paper import estimator_for, split
from skscn.paper.trials import ALL_SCOPES, Trial, TrialStore, Unit, product_of_sines, run_trial

UNIT = Unit("DB1", "SC-III", 6, (("max_candidates", 10),))
OTHER = Unit("DB1", "IRVFL", 6)


def filled(path, trials=2):
    store = TrialStore(path, data_seed=0)
    list(store.run(store.missing([UNIT, OTHER], trials), jobs=1))
    return store


def test_trials_are_there_again_when_the_file_is_opened_again(tmp_path):
    path = tmp_path / "new folder" / "trials.jsonl"
    store = filled(path)
    again = TrialStore(path, data_seed=0)
    assert again.missing([UNIT, OTHER], 2) == []
    assert again.trials(UNIT, 2) == store.trials(UNIT, 2)
    assert again.missing([UNIT], 3) == [(UNIT, 2)]


def test_other_data_seeds_and_parameters_are_other_trials(tmp_path):
    filled(tmp_path / "trials.jsonl")
    assert len(TrialStore(tmp_path / "trials.jsonl", data_seed=1).missing([UNIT], 2)) == 2
    changed = Unit("DB1", "SC-III", 6, (("max_candidates", 11),))
    assert len(TrialStore(tmp_path / "trials.jsonl", data_seed=0).missing([changed], 2)) == 2


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_line_that_was_cut_off_is_run_again(tmp_path, cut):
    path = tmp_path / "trials.jsonl"
    store = filled(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    resumed = TrialStore(path, data_seed=0)
    missing = resumed.missing([UNIT, OTHER], 2)
    assert len(missing) == 1
    list(resumed.run(missing, jobs=1))
    for unit in (UNIT, OTHER):
        for ours, theirs in zip(resumed.trials(unit, 2), store.trials(unit, 2), strict=True):
            assert (ours.train, ours.test) == (theirs.train, theirs.test)
    assert all(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def test_a_trial_is_the_same_every_time_and_goes_on_until_its_tolerance():
    short = Unit("DB1", "SC-III", 5)
    longer = Unit("DB1", "SC-III", 5, until=60)
    one, other = run_trial(short, 3, 0), run_trial(longer, 3, 0)
    assert one.train == run_trial(short, 3, 0).train
    assert one.train == other.train[:5]
    assert one.reached() is None
    assert other.reached() == len(other.train) > 5


def test_reading_a_trial():
    trial = Trial(train=[0.2, 0.05, 0.01], test=[0.3, 0.06, 0.02], seconds=[1.0, 2.0, 3.0])
    assert trial.at("test", 2) == 0.06
    assert trial.at("train", 100) == 0.01
    assert trial.reached() == 2


def test_the_product_of_sines():
    X, X_test, y, y_test = product_of_sines(0)
    np.testing.assert_allclose(y_test[0], np.prod([np.sin(np.pi * x) for x in X_test[0]]))
    assert X.shape == X_test.shape == (2000, 6)
    assert (y > 0).all()


@pytest.mark.parametrize(("data", "scopes"), [("DB1", (100, 150, 200)), ("DB2", ALL_SCOPES), ("DB4", ALL_SCOPES)])
def test_settings_of_a_data_set_are_those_of_its_trials(data, scopes):
    model = estimator_for(data, algorithm="SC-II", random_state=3)
    assert model.get_params() == Unit(data, "SC-II", 50).estimator(3).get_params()
    assert (model.algorithm, model.scopes, model.max_candidates, model.tol) == ("SC-II", scopes, 200, 0.0)
    assert estimator_for(data, search="renewal").configuration == "renewal"


def test_settings_give_the_network_of_a_trial():
    X, X_test, y, y_test = split("DB1", 0)
    model = estimator_for("DB1", max_nodes=6, random_state=1).fit(X, y)
    assert Trial.of(model, X_test, y_test).test == run_trial(Unit("DB1", "SC-III", 6), 1, 0).test


@pytest.mark.parametrize("wrong", [{"data": "DB5"}, {"algorithm": "SC-IV"}, {"search": "latter"}])
def test_settings_that_the_paper_does_not_have_are_refused(wrong):
    with pytest.raises(ValueError, match=f"There is no .* '{next(iter(wrong.values()))}'"):
        estimator_for(**{"data": "DB1", **wrong})
