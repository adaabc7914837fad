"""Earlier rows as columns: as shifted by hand, never from later rows or other groups, continued where they ended."""

import json

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from skscn import SCNClassifier, SCNEnsembleRegressor, SCNRegressor, load_model, save_model
from skscn.persistence import ModelFileError
from skscn.series import Lags
from skscn.series._search import find_season

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 3))
Y = RNG.normal(size=300)
FRAME = pd.DataFrame(X, columns=["reflux", "feed", "steam"])
GROUPS = RNG.integers(3, size=300)
SETTINGS = [
    {"inputs": [1, 4]},
    {"inputs": {0: 2, 2: [3, 5]}, "means": [4]},
    {"inputs": None, "target": [2, 6], "delay": 2},
    {"inputs": 3, "target": [5], "delay": 5, "means": [3], "columns": [1]},
    {"inputs": "auto", "target": "auto", "delay": 3, "max_lag": 6},
]


def answer(n_rows=900, seed=0):
    """A plant: the output follows the inputs 5 and 12 rows later, and a product of both 8 rows later."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n_rows + 20, 3))
    shifted = {rows: inputs[20 - rows : n_rows + 20 - rows] for rows in (5, 8, 12)}
    y = shifted[5][:, 0] - shifted[12][:, 1] + shifted[8][:, 0] * shifted[8][:, 2]
    return inputs[20:], y + 0.1 * rng.normal(size=n_rows)


# ---- values


def test_columns_are_those_that_pandas_shifts():
    lags = Lags({"reflux": [1, 7], "steam": 2}, [3, 5], delay=3, means=[4], columns=["feed"])
    table = lags.set_output(transform="pandas").fit_transform(FRAME, pd.Series(Y, name="C4"))
    assert list(table.columns[:3]) == list(FRAME.columns)
    expected = {
        "reflux 1 row ago": FRAME["reflux"].shift(1),
        "reflux 7 rows ago": FRAME["reflux"].shift(7),
        "feed, mean of 4 rows": FRAME["feed"].rolling(4).mean(),
        "steam 2 rows ago": FRAME["steam"].shift(2),
        "C4 3 rows ago": pd.Series(Y).shift(3),
        "C4 5 rows ago": pd.Series(Y).shift(5),
    }
    assert list(table.columns[3:]) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(table[name][7:], values[7:], rtol=1e-12)
    assert lags.complete_.tolist() == [False] * 7 + [True] * 293
    assert lags.lags_ == {"reflux": [1, 7], "steam": [2], "C4": [3, 5]}
    assert lags.means_ == {"feed": [4]}


def test_the_first_rows_have_what_was_known_then():
    lags = Lags([1, 3], [1], delay=1, means=[2])
    Z = lags.fit_transform(X[:10, :1], Y[:10])
    np.testing.assert_array_equal(Z[0, 1:4], np.repeat(X[0, 0], 3))
    np.testing.assert_array_equal(Z[1, 1:3], np.repeat(X[0, 0], 2))
    assert Z[0, 4] == pytest.approx(Y[:10].mean())
    assert Z[1, 4] == Y[0]


@pytest.mark.parametrize("settings", SETTINGS)
def test_later_rows_change_nothing(settings):
    """Neither later inputs nor targets that are not known yet."""
    lags = Lags(**settings)
    before = lags.fit_transform(X, Y)
    fixed = {"inputs": {place: [] for place in range(3)}}
    for term in lags._terms:
        if not term.of_target and not term.is_mean:
            fixed["inputs"][term.column].append(term.rows)
    late = {**settings, **fixed}
    if settings.get("target") == "auto":
        late["target"] = lags.lags_.get("target", [3])
    later_x, later_y = X.copy(), Y.copy()
    later_x[200:] += 100.0
    later_y[200 - (lags.delay_ or 0) + 1 :] += 100.0
    after = Lags(**late).fit_transform(later_x, later_y)[:200]
    columns = [list(Lags(**late).fit(X, Y).get_feature_names_out()).index(n) for n in lags.get_feature_names_out()]
    rows = lags.complete_[:200]
    np.testing.assert_array_equal(after[rows][:, columns], before[:200][rows])


def test_a_later_row_changes_no_earlier_one_in_transform():
    lags = Lags([1, 5], [2, 4], delay=2, means=[3]).fit(X[:100], Y[:100])
    before = lags.transform(X[100:150], targets=Y[100:150])
    changed_x, changed_y = X[100:150].copy(), Y[100:150].copy()
    changed_x[30:], changed_y[29:] = -7.0, -9.0
    after = lags.transform(changed_x, targets=changed_y)
    np.testing.assert_array_equal(after[:31, 3:9][:30], before[:30, 3:9])
    np.testing.assert_array_equal(after[:31, 12:], before[:31, 12:])
    assert (after[31:33, 12] == -9.0).all()


def test_missing_targets_are_replaced_by_the_last_one_known():
    sparse = np.where(np.arange(300) % 10 == 0, Y, np.nan)
    lags = Lags(None, [3], delay=3)
    Z = lags.fit_transform(X, sparse)
    np.testing.assert_array_equal(Z[3:, 3], pd.Series(sparse).ffill().shift(3)[3:])
    assert lags.complete_.tolist() == [False] * 3 + [True] * 297
    late = Lags(None, [3], delay=3).fit(X, np.where(np.arange(300) < 50, np.nan, Y))
    assert np.flatnonzero(late.complete_)[0] == 53


# ---- groups


@pytest.mark.parametrize("settings", SETTINGS[:4])
def test_groups_never_mix(settings):
    together = Lags(**settings).fit(X[:200], Y[:200], groups=GROUPS[:200])
    Z = Lags(**settings).fit_transform(X[:200], Y[:200], groups=GROUPS[:200])
    later = together.transform(X[200:], groups=GROUPS[200:], targets=Y[200:])
    for group in range(3):
        rows = group == GROUPS
        first, second = rows & (np.arange(300) < 200), rows & (np.arange(300) >= 200)
        alone = Lags(**settings)
        expected = alone.fit_transform(X[first], Y[first])
        complete = alone.complete_
        np.testing.assert_array_equal(Z[first[:200]][complete], expected[complete])
        np.testing.assert_array_equal(later[second[200:]], alone.transform(X[second], targets=Y[second]))


def test_a_search_in_groups_finds_what_one_in_a_single_series_finds():
    inputs, y = answer(1200)
    # Two series of the same plant, one row of each in turn.
    order = np.argsort(np.r_[0:600, 0:600], kind="stable")
    halves = np.r_[np.zeros(600, int), np.ones(600, int)]
    lags = Lags().fit(inputs[order], y[order], groups=halves[order])
    assert {"x0", "x1", "x2"} == set(lags.lags_)
    assert {5, 8} <= set(lags.lags_["x0"])
    assert 12 in lags.lags_["x1"]
    assert 8 in lags.lags_["x2"]


# ---- continuing


@pytest.mark.parametrize("settings", SETTINGS)
def test_transform_continues_where_training_ended(settings):
    """Rows in one go, in two parts, and one by one, are the same, bit for bit."""
    lags = Lags(**settings).fit(X[:200], Y[:200])
    whole = Lags(**{**settings, **_found(lags)}).fit_transform(X, Y)
    again = Lags(**{**settings, **_found(lags)}).fit(X[:200], Y[:200])
    np.testing.assert_array_equal(again.transform(X[200:], targets=Y[200:]), whole[200:])
    for row in range(200, 300):
        one = again.transform(X[[row]], targets=Y[[row]])
        np.testing.assert_array_equal(one[0], whole[row])
        again.advance(X[[row]], targets=Y[[row]])


def _found(lags):
    """Parameters that name what a search has found."""
    if not lags._searches:
        return {}
    inputs = {place: lags.lags_.get(f"x{place}", []) for place in range(3)}
    return {"inputs": inputs, "target": lags.lags_.get("target", [3])}


def test_without_new_targets_the_last_known_ones_stay():
    lags = Lags(None, [2, 3], delay=2).fit(X[:100], Y[:100])
    Z = lags.transform(X[100:106])
    assert Z[:, 3].tolist() == [Y[98], Y[99], Y[99], Y[99], Y[99], Y[99]]
    assert Z[:, 4].tolist() == [Y[97], Y[98], Y[99], Y[99], Y[99], Y[99]]


def test_transform_changes_nothing_and_restart_forgets():
    lags = Lags([2]).fit(X[:100], Y[:100])
    first, second = lags.transform(X[100:110]), lags.transform(X[100:110])
    np.testing.assert_array_equal(first, second)
    alone = Lags([2], continues=False).fit(X[:100], Y[:100])
    np.testing.assert_array_equal(lags.restart().transform(X[:100]), alone.transform(X[:100]))
    np.testing.assert_array_equal(alone.transform(X[:100]), alone.fit_transform(X[:100]))


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_saved_model_continues(settings, tmp_path):
    model = make_pipeline(Lags(**settings), SCNRegressor(max_nodes=3, random_state=0))
    model.fit(FRAME[:200] if 0 not in np.atleast_1d(settings.get("inputs")) else X[:200], Y[:200])
    save_model(model, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    rows = FRAME[200:] if hasattr(model[0], "feature_names_in_") else X[200:]
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    for lags in (loaded[0], model[0]):
        lags.advance(rows[:50], targets=Y[200:250])
    np.testing.assert_array_equal(loaded.predict(rows[50:]), model.predict(rows[50:]))
    assert loaded[0].get_params() == model[0].get_params()
    assert loaded[0].lags_ == model[0].lags_
    assert clone(loaded).fit(X[:200], Y[:200]).predict(X[200:]).shape == (100,)


def test_groups_are_saved(tmp_path):
    names = np.array(["north", "south", "west"])[GROUPS]
    lags = Lags([2], [3], delay=1).fit(X[:200], Y[:200], groups=names[:200])
    same = Lags.from_json(json.loads(json.dumps(lags.to_json())))
    np.testing.assert_array_equal(
        same.transform(X[200:], groups=names[200:]), lags.transform(X[200:], groups=names[200:])
    )


# ---- the search


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_lags_of_a_plant_and_hardly_others(seed):
    lags = Lags().fit(*answer(seed=seed))
    assert {(name, rows) for name, found in lags.lags_.items() for rows in found} >= {
        ("x0", 5),
        ("x1", 12),
        ("x0", 8),
        ("x2", 8),
    }
    assert lags.transform(X[:1]).shape[1] <= 3 + 6


def test_the_search_adds_next_to_nothing_if_the_past_does_not_matter():
    added = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        inputs = rng.normal(size=(800, 4))
        y = np.sin(inputs[:, 0]) + inputs[:, 1] * inputs[:, 2] + 0.2 * rng.normal(size=800)
        added.append(len(Lags().fit(inputs, y)._terms))
    assert np.median(added) == 0
    assert max(added) <= 3


def test_the_search_sees_neither_rows_to_come_nor_more_than_it_may_add():
    inputs, y = answer(1200)
    lags = Lags(max_terms=2, max_lag=12).fit(inputs[:900], y[:900])
    assert len(lags._terms) == 2
    assert lags.depth_ <= 12
    changed = y.copy()
    changed[900:] = RNG.normal(size=300)
    assert Lags().fit(inputs[:900], changed[:900]).lags_ == Lags().fit(inputs[:900], y[:900]).lags_


def test_the_search_among_targets_respects_the_delay():
    y = np.zeros(1000)
    noise = np.random.default_rng(1).normal(size=1000)
    for row in range(1, 1000):
        y[row] = 0.95 * y[row - 1] + noise[row]
    inputs = RNG.normal(size=(1000, 1))
    lags = Lags(None, "auto", delay=4).fit(inputs, y)
    assert min(lags.lags_["target"]) == 4


def test_the_search_adds_to_what_is_given():
    """With the target of the row before, which explains nearly everything, only what is new is looked for."""
    rng = np.random.default_rng(4)
    inputs, y = rng.normal(size=(1000, 2)), np.zeros(1000)
    for row in range(6, 1000):
        y[row] = 0.9 * y[row - 1] + 0.5 * inputs[row - 6, 1] + 0.05 * rng.normal()
    lags = Lags("auto", [1], delay=1).fit(inputs, y)
    assert lags.lags_ == {"x1": [6], "target": [1]}
    assert lags.means_ == {}
    assert len(Lags("auto").fit(inputs, y)._terms) > 5


def test_sparse_targets_can_be_searched():
    inputs, y = answer(3000)
    sparse = np.where(np.arange(3000) % 10 == 0, y, np.nan)
    lags = Lags().fit(inputs, sparse)
    assert 5 in lags.lags_["x0"]
    assert 12 in lags.lags_["x1"]


def test_lags_are_found_among_very_many_candidates():
    rng = np.random.default_rng(6)
    inputs = rng.normal(size=(600, 40))
    y = np.roll(inputs[:, 3], 9) + inputs[:, 0] * np.roll(inputs[:, 7], 4) + 0.5 * np.roll(inputs[:, 7], 4)
    lags = Lags().fit(inputs, y + 0.1 * rng.normal(size=600))
    assert 9 in lags.lags_["x3"]
    assert 4 in lags.lags_["x7"]


def test_outliers_do_not_hide_the_lags():
    inputs, y = answer(2000)
    rng = np.random.default_rng(9)
    y = y + (rng.random(2000) < 0.02) * rng.choice([-40.0, 40.0], 2000)
    lags = Lags().fit(inputs, y)
    assert {5, 8} <= set(lags.lags_["x0"])
    assert 12 in lags.lags_["x1"]


def test_a_constant_target_and_constant_inputs():
    inputs = np.column_stack([X, np.ones(300)])
    assert Lags().fit(inputs, np.ones(300)).lags_ == {}
    assert "x3" not in Lags().fit(inputs, np.roll(X[:, 0], 3)).lags_


def test_moving_means_are_found():
    rng = np.random.default_rng(2)
    inputs = rng.normal(size=(1000, 2))
    y = pd.Series(inputs[:, 1]).rolling(10, min_periods=1).mean().to_numpy() + 0.02 * rng.normal(size=1000)
    lags = Lags().fit(inputs, y)
    assert 10 in lags.means_["x1"]


def test_classes_can_be_searched_and_several_targets():
    inputs, y = answer()
    labels = np.where(inputs[:, 0] > 0, "high", "low")
    lags = Lags([1]).fit(inputs, labels)
    assert lags.lags_ == {"x0": [1], "x1": [1], "x2": [1]}
    later = np.roll(labels, 6)
    assert Lags().fit(inputs, later).lags_["x0"] == [6]
    model = make_pipeline(Lags(), SCNClassifier(max_nodes=5, random_state=0)).fit(inputs, later)
    assert model.score(inputs, later) > 0.9
    both = np.column_stack([y, np.roll(inputs[:, 1], 3)])
    found = Lags("auto", [4], delay=4).fit(inputs, pd.DataFrame(both, columns=["a", "b"]))
    assert {3, 12} <= set(found.lags_["x1"])
    assert (found.lags_["a"], found.lags_["b"]) == ([4], [4])


# ---- with scikit-learn


def test_networks_and_ensembles_model_a_series():
    inputs, y = answer(1500)
    for network in (SCNRegressor, SCNEnsembleRegressor):
        small = {"max_nodes": 30} if network is SCNRegressor else {"n_members": 2}
        alone = network(validation="last", random_state=0, **small).fit(inputs[:1000], y[:1000])
        model = make_pipeline(Lags(), network(validation="last", random_state=0, **small)).fit(inputs[:1000], y[:1000])
        assert model.score(inputs[1000:], y[1000:]) > 0.9
        assert alone.score(inputs[1000:], y[1000:]) < 0.1


def test_time_series_split_and_grid_search():
    inputs, y = answer(1200)
    model = make_pipeline(Lags([5, 12]), LinearRegression())
    scores = cross_val_score(model, inputs, y, cv=TimeSeriesSplit(3))
    assert scores.min() > 0.5
    # What a test part is given are the last rows before it.
    train, test = list(TimeSeriesSplit(3).split(inputs))[1]
    lagged = np.column_stack([inputs, *(np.roll(inputs, rows, axis=0) for rows in (5, 12))])
    by_hand = model.fit(inputs[train], y[train])[-1].predict(lagged[test][:, [0, 1, 2, 3, 6, 4, 7, 5, 8]])
    np.testing.assert_allclose(model.predict(inputs[test]), by_hand)
    search = GridSearchCV(model, {"lags__inputs": [[1], [5, 12]]}, cv=TimeSeriesSplit(3)).fit(inputs, y)
    assert search.best_params_ == {"lags__inputs": [5, 12]}


def test_groups_and_targets_are_routed():
    with sklearn.config_context(enable_metadata_routing=True):
        lags = Lags([1], [2], delay=2).set_fit_request(groups=True).set_transform_request(groups=True, targets=True)
        model = make_pipeline(lags, LinearRegression())
        model.fit(X[:200], Y[:200], groups=GROUPS[:200])
        predicted = model.predict(X[200:], groups=GROUPS[200:], targets=Y[200:])
    Z = model[0].transform(X[200:], groups=GROUPS[200:], targets=Y[200:])
    np.testing.assert_array_equal(predicted, model[1].predict(Z))


# Rows of a series depend on the rows before them.
INVARIANCES = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")
CHECKS = [
    pytest.param(estimator, check, id=f"{number} {check.func.__name__}")
    for lags in (Lags([1], continues=False), Lags(None))
    for number, (estimator, check) in enumerate(estimator_checks_generator(lags))
    if check.func.__name__ not in (*INVARIANCES, "check_array_api_input")
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ---- what is refused, in one sentence


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"inputs": [0, 1]}, "Lags are whole numbers of rows from 1 to 100,000, not 0"),
        ({"inputs": -2}, "not -2; a lag of 0 is the row itself, and a negative one would look ahead"),
        ({"inputs": [1.5]}, "not 1.5"),
        ({"inputs": [True]}, "not True"),
        ({"inputs": [1], "means": [0]}, "not 0"),
        ({"inputs": [300]}, "300 earlier rows cannot be looked at in a series of 300 samples"),
        ({"inputs": {"feed": 1}}, "X has no column 'feed'; its columns have no names"),
        ({"inputs": {3: 1}}, "There is no column 3; X has the columns 0 to 2"),
        ({"inputs": None, "target": [1]}, "Earlier targets need delay"),
        ({"inputs": None, "target": [1, 5], "delay": 3}, "The target 1 row ago is not known yet if delay is 3"),
        ({"inputs": None, "delay": 3}, "delay is about earlier targets"),
        ({"inputs": "some"}, "The 'inputs' parameter of Lags must be"),
    ],
)
def test_impossible_lags(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Lags(**settings).fit(X, Y)


def test_impossible_rows_and_targets():
    holes = X.copy()
    holes[[3, 7], 1] = np.nan
    with pytest.raises(ValueError, match="'feed' contains NaN or infinity in 2 rows; fill them in first"):
        Lags([1]).fit(pd.DataFrame(holes, columns=FRAME.columns))
    with pytest.raises(ValueError, match="'x1' contains NaN"):
        Lags([1]).fit(X).transform(holes)
    with pytest.raises(ValueError, match="Lags needs y"):
        Lags().fit(X)
    with pytest.raises(ValueError, match="is not known in any row"):
        Lags(None, [1], delay=1).fit(X, np.full(300, np.nan))
    with pytest.raises(ValueError, match="is not known in the group 1"):
        Lags(None, [1], delay=1).fit(X, np.where(GROUPS == 1, np.nan, Y), groups=GROUPS)
    with pytest.raises(ValueError, match="The target contains infinity"):
        Lags(None, [1], delay=1).fit(X, np.where(GROUPS == 1, np.inf, Y))
    with pytest.raises(ValueError, match="Earlier targets must be numbers"):
        Lags(None, [1], delay=1).fit(X, np.where(Y > 0, "a", "b"))
    with pytest.raises(ValueError, match="The target contains infinity"):
        Lags().fit(X, np.where(GROUPS == 1, np.inf, Y))
    with pytest.raises(ValueError, match="give a target for each row"):
        Lags().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="give a target for each row"):
        Lags(None, [1], delay=1).fit(X, Y[:-1])
    with pytest.raises(ValueError, match="targets has 2 columns; y had 1"):
        Lags(None, [1], delay=1).fit(X, Y).transform(X, targets=np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="Searching lags needs at least 40 rows with a target"):
        Lags().fit(X[:30], Y[:30])
    assert Lags("auto", columns=[]).fit(X, Y).lags_ == {}


def test_impossible_groups():
    lags = Lags([1]).fit(X, groups=GROUPS)
    with pytest.raises(ValueError, match="The groups 7, 8 were not in training"):
        lags.transform(X[:3], groups=[1, 7, 8])
    with pytest.raises(ValueError, match="The rows come without groups, but Lags was fitted with groups"):
        lags.transform(X)
    with pytest.raises(ValueError, match="The rows come with groups, but Lags was fitted without groups"):
        Lags([1]).fit(X).transform(X, groups=GROUPS)
    with pytest.raises(ValueError, match="groups must have one value for each of the 300 rows"):
        lags.fit(X, groups=GROUPS[:-1])
    with pytest.raises(ValueError, match="groups has no value in row 3"):
        lags.fit(X[:3], groups=np.array(["a", "b", None], dtype=object))
    new = Lags([1], continues=False).fit(X, groups=GROUPS).transform(X[:2], groups=["new", "new"])
    assert new[1, 3] == X[0, 0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda state: state.pop("ends"), "exactly the fields"),
        (lambda state: state["parameters"].pop("delay"), "have other names"),
        (lambda state: state["parameters"].update(max_lag=-1), "max_lag"),
        (lambda state: state["parameters"].update(target=None), "do not fit together"),
        (lambda state: state["parameters"].update(inputs={"pairs": 1}), "not a list of columns and lags"),
        (lambda state: state["parameters"].update(delay=5), "used before it is known"),
        (lambda state: state.update(n_inputs=0), "number of inputs"),
        (lambda state: state.update(names=["a", "a", "b"]), "names of inputs"),
        (lambda state: state.update(names=["a"]), "1 names of 3 inputs"),
        (lambda state: state.update(target_means=[None]), "not numbers"),
        (lambda state: state.update(target_means=None), "means of targets"),
        (lambda state: state.update(terms={}), "not a list"),
        (lambda state: state["terms"].append([True, 0, False]), "two flags"),
        (lambda state: state["terms"].append([True, 1, False, 9]), "do not exist"),
        (lambda state: state["terms"].append([True, 0, True, 9]), "mean of the target"),
        (lambda state: state["terms"].append(state["terms"][0]), "not in order"),
        (lambda state: state["terms"][0].__setitem__(3, 10**9), "do not exist"),
        (lambda state: state.update(grouped=1), "last rows are not a list"),
        (lambda state: state["ends"].append(state["ends"][0]), "occurs twice"),
        (lambda state: state["ends"][0].__setitem__(0, "a"), "occurs twice"),
        (lambda state: state["ends"][0][1].pop(), "not equally many"),
        (lambda state: state["ends"][0][1].append([1.0, 2.0]), "lists of 3 numbers"),
        (lambda state: state["ends"][0][1].__setitem__(0, [1.0, 2.0, "3"]), "not numbers"),
        (lambda state: state["ends"][0][1].__setitem__(0, [1.0, 2.0, 1e999]), "not finite"),
        (
            lambda state: [state["ends"][0][place].extend(state["ends"][0][place]) for place in (1, 2)],
            "than are needed",
        ),
    ],
)
def test_a_state_that_says_something_impossible(change, reason, monkeypatch, tmp_path):
    lags = Lags({1: [2]}, [3], delay=2).fit(X, Y)
    state = lags.to_json()
    change(state)
    with pytest.raises(ValueError, match=reason):
        Lags.from_json(state)
    monkeypatch.setattr(Lags, "to_json", lambda self: state)
    with pytest.raises(ModelFileError):
        save_model(make_pipeline(lags, SCNRegressor(max_nodes=1).fit(lags.transform(X), Y)), tmp_path / "model.scn")


def seasonal(n_rows, period, seed=0):
    """A profile that comes again, on a level that wanders, and an input."""
    rng = np.random.default_rng(seed)
    profile, u = 2.0 * rng.normal(size=period), rng.normal(size=(n_rows, 1))
    level = np.cumsum(rng.normal(size=n_rows)) / 10
    return u, profile[np.arange(n_rows) % period] + level + u[:, 0] + 0.3 * rng.normal(size=n_rows)


@pytest.mark.parametrize("period", [40, 60, 96])
def test_the_search_finds_a_season_that_is_longer_than_the_longest_lag(period):
    u, y = seasonal(900, period)
    lags = Lags(target="auto", delay=4).fit(u, y)
    assert period in lags.lags_["target"]
    assert max(lags.lags_["target"]) <= period + 4
    column = list(lags.get_feature_names_out()).index(f"target {period} rows ago")
    np.testing.assert_array_equal(lags.transform(u[:4])[:, column], y[900 - period : 904 - period])


def test_series_without_a_season_get_no_longer_lags():
    rng = np.random.default_rng(0)
    for values in (np.cumsum(rng.normal(size=800)), rng.normal(size=800), np.arange(800.0), np.ones(800)):
        assert find_season([values[:, np.newaxis]], 31) is None


def test_the_season_of_several_series_is_that_of_their_changes():
    several = [seasonal(500, 45, seed)[1][:, np.newaxis] + 100.0 * seed for seed in range(3)]
    assert find_season(several, 31) == 45
    several[1][100:130] = np.nan
    assert find_season(several, 31) == 45
    # Of multiples the shortest; too few seasons tell nothing.
    assert find_season(several, 46) == 90
    assert find_season([series[:150] for series in several], 31) is None
