"""What parameters stand for, and what does not go together."""

import numpy as np
import pytest

from skscn import Activation, IRVFLRegressor, ModifiedQuickpropRegressor, SCNClassifier, SCNRegressor
from skscn.fit.data import ArrayData, HoldOut
from skscn.fit.plan import Recipe
from skscn.output_weights import ALGORITHMS
from skscn.search import CONFIGURATIONS

X = np.random.default_rng(0).uniform(size=(60, 2))


def rows(count, n_features=3):
    return ArrayData.regression(np.zeros((count, n_features)), np.zeros(count), None)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_auto_follows_the_configuration(configuration):
    recipe, search = Recipe.of(SCNRegressor(configuration=configuration)), CONFIGURATIONS[configuration]
    assert (recipe.scaling, recipe.alpha) == (search.scaling, search.alpha)
    assert (recipe.direct_link, recipe.early_stopping) == (search.direct_link, search.early_stopping)
    asked = SCNRegressor(configuration=configuration, scaling=None, alpha=2, direct_link=True, early_stopping="bic")
    recipe = Recipe.of(asked)
    assert (recipe.scaling, recipe.alpha, recipe.direct_link, recipe.early_stopping) == (None, 2, True, "bic")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_without_being_asked_only_sc3_regularises(algorithm):
    assert Recipe.of(SCNRegressor(algorithm)).alpha == ("gcv" if algorithm == "SC-III" else 0.0)


@pytest.mark.parametrize(
    ("count", "parameters", "criterion", "held_out", "linear"),
    [
        (50, {}, "gcv", 0.1, 4),
        (50, {"early_stopping": True}, "validation", 0.1, 4),
        (10, {}, "gcv", 0.1, 1),
        (100, {}, "validation", 0.1, 4),
        (100_000, {}, "validation", 0.1, 4),
        (150_000, {}, "gcv", 0.1 / 1.5, 1),
        (150_000, {"early_stopping": True, "direct_link": True}, "validation", 0.1, 4),
        (150_000, {"validation": "last"}, "validation", 0.1 / 1.5, 1),
        (500, {"configuration": "ladder"}, None, 0.1, 0),
        (500, {"configuration": "ladder", "early_stopping": "aic", "direct_link": True}, "aic", 0.1, 4),
    ],
)
def test_a_plan_follows_from_the_number_of_rows(count, parameters, criterion, held_out, linear):
    plan = Recipe.of(SCNRegressor(**parameters)).plan(rows(count), HoldOut())
    assert plan.criterion == criterion
    assert plan.share_held_out == pytest.approx(held_out)
    assert len(plan.linear) == linear


def test_many_inputs_are_not_linked_unless_asked():
    wide = rows(2000, n_features=300)
    assert len(Recipe.of(SCNRegressor()).plan(wide, HoldOut()).linear) == 1
    assert len(Recipe.of(SCNRegressor(direct_link=True)).plan(wide, HoldOut()).linear) == 301


def test_baselines_have_what_the_paper_gives_them():
    assert Recipe.of(IRVFLRegressor()).rule is ALGORITHMS["SC-I"]
    assert Recipe.of(ModifiedQuickpropRegressor()).rule is ALGORITHMS["SC-III"]
    for baseline in (IRVFLRegressor(), ModifiedQuickpropRegressor()):
        plan = Recipe.of(baseline).plan(rows(500), HoldOut())
        assert (plan.criterion, len(plan.linear)) == (None, 0)


SQUARE = Activation("square", np.square)


@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II"])
def test_alpha_by_cross_validation_is_for_all_output_weights(algorithm):
    sentence = f'{algorithm} never evaluates older ones again; use a number, algorithm="SC-III", or alpha="auto".'
    with pytest.raises(ValueError, match=sentence):
        SCNRegressor(algorithm, alpha="gcv").fit(X, X[:, 0])
    with pytest.raises(ValueError, match=sentence):
        SCNClassifier(algorithm, alpha="gcv").fit(X, X[:, 0] > 0.5)


@pytest.mark.parametrize(
    "model", [SCNRegressor(configuration="quickprop", activation=SQUARE), ModifiedQuickpropRegressor(activation=SQUARE)]
)
def test_quickprop_needs_a_derivative(model):
    with pytest.raises(ValueError, match=r"derivative of the activation 'square'; pass skscn.Activation\(name, value"):
        model.fit(X, X[:, 0])


def test_contradictions_are_found_before_the_rows_are_read(tmp_path):
    (tmp_path / "rows.csv").write_text("this,is\nnot,numbers\n")
    with pytest.raises(ValueError, match='alpha="gcv" is chosen'):
        SCNRegressor("SC-I", alpha="gcv").fit(tmp_path / "rows.csv", "is")


@pytest.mark.parametrize(
    ("n_rows", "most"), [(50, 100), (150, 100), (600, 300), (2_000, 353), (5_000, 223), (10**6, 100)]
)
def test_without_a_limit_nodes_are_limited_by_rows_and_memory(n_rows, most):
    assert Recipe.of(SCNRegressor()).plan(rows(n_rows, 1), HoldOut()).max_nodes == most
    assert Recipe.of(SCNRegressor(max_nodes=7)).plan(rows(n_rows, 1), HoldOut()).max_nodes == 7
    assert Recipe.of(SCNRegressor(early_stopping=False)).plan(rows(n_rows, 1), HoldOut()).max_nodes == 100
    assert Recipe.of(SCNRegressor(configuration="ladder")).plan(rows(n_rows, 1), HoldOut()).max_nodes == 100


def test_steps_grow_with_the_network_unless_their_size_is_given():
    pace = Recipe.of(SCNRegressor()).plan(rows(500), HoldOut()).pace
    assert [pace.after(nodes) for nodes in (0, 23, 24, 60, 96, 500)] == [3, 3, 4, 10, 16, 16]
    pace = Recipe.of(SCNRegressor(nodes_per_step=2)).plan(rows(500), HoldOut()).pace
    assert [pace.after(nodes) for nodes in (0, 60, 500)] == [2, 2, 2]
    assert Recipe.of(SCNRegressor()).plan(rows(50), HoldOut()).pace.after(60) == 1
    assert Recipe.of(SCNRegressor(configuration="ladder")).plan(rows(500), HoldOut()).pace.after(60) == 1
