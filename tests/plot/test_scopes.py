import numpy as np

from skscn import IRVFLRegressor, SCNRegressor
from skscn.plot import ScopeDisplay


def test_which_scope_won_when(network, ax):
    display = ScopeDisplay.from_estimator(network, ax=ax)
    history = network.history_
    np.testing.assert_array_equal(display.points_.get_offsets(), np.column_stack([history["nodes"], history["scope"]]))
    assert ax.get_yscale() == "log"


def test_nodes_that_were_not_kept_are_paler(network, ax):
    display = ScopeDisplay.from_estimator(network, ax=ax)
    np.testing.assert_array_equal(display.points_.get_alpha() < 0.5, network.history_["nodes"] > network.n_nodes_)


def test_the_steps_of_all_members(ensemble, ax):
    display = ScopeDisplay.from_estimator(ensemble, ax=ax)
    assert len(display.scopes) == sum(len(member.history_) for member in ensemble.members_)


def test_one_scope_or_none_can_be_drawn(diabetes, ax):
    X, y = diabetes
    free = IRVFLRegressor(max_nodes=3, scope=7, random_state=0).fit(X, y)
    assert set(ScopeDisplay.from_estimator(free, ax=ax).scopes) == {7}
    no_nodes = SCNRegressor(random_state=0).fit(X, X[:, 0])
    assert not ScopeDisplay.from_estimator(no_nodes, ax=ax).scopes.size
