import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscn import IRVFLRegressor, SCNRegressor
from skscn.plot import ConvergenceDisplay


def test_errors_of_a_network_against_its_nodes(network, ax):
    display = ConvergenceDisplay.from_estimator(network, ax=ax)
    (train,), (validation,) = display.train_lines_, display.validation_lines_
    kept = network.history_[network.history_["nodes"] <= network.n_nodes_]
    np.testing.assert_array_equal(train.get_xdata(), kept["nodes"])
    np.testing.assert_array_equal(train.get_ydata(), kept["train_rmse"])
    np.testing.assert_array_equal(validation.get_ydata(), kept["validation_rmse"])
    assert ax.get_yscale() == "log"
    assert f"kept: {network.n_nodes_} nodes" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_legend_is_below_the_axes_and_their_label(network, ensemble):
    histories, kept = [network.history_] * 3, [network.n_nodes_] * 3
    for display in (
        ConvergenceDisplay.from_estimator(network),
        ConvergenceDisplay.from_estimator(ensemble),
        ConvergenceDisplay(histories=histories, kept=kept, what="networks compared"),
    ):
        figure = Figure(figsize=(4.0, 2.8), layout="constrained")
        ax = figure.subplots()
        display.plot(ax)
        figure.draw_without_rendering()
        legend = ax.get_legend().get_window_extent()
        assert legend.y1 <= ax.xaxis.label.get_window_extent().y0
        assert legend.y0 >= 0.0
        assert legend.x1 <= figure.bbox.x1


def test_steps_that_were_undone_are_paler(network, ax):
    display = ConvergenceDisplay.from_estimator(network, ax=ax)
    assert 0 < network.n_nodes_ < network.history_["nodes"][-1]
    for line, error in zip(display.undone_lines_, ("train_rmse", "validation_rmse"), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), network.history_[error][network.n_nodes_ - 1 :])
        assert line.get_alpha() < 0.5
    pale = ax.collections[0].get_alpha() < 0.5
    np.testing.assert_array_equal(pale, network.history_["nodes"] > network.n_nodes_)


def test_steps_are_coloured_by_their_scope(network, ax):
    ConvergenceDisplay.from_estimator(network, ax=ax)
    points = ax.collections[0]
    np.testing.assert_array_equal(points.get_array(), network.history_["scope"])
    assert points.colorbar is not None


def test_members_of_an_ensemble_are_a_thin_line_each(ensemble, network, ax):
    display = ConvergenceDisplay.from_estimator(ensemble, ax=ax)
    assert len(display.train_lines_) == len(display.validation_lines_) == ensemble.n_members
    assert not ax.collections
    assert display.train_lines_[0].get_linewidth() < 1


def test_no_validation_line_without_rows_held_out(diabetes, ax):
    model = IRVFLRegressor(max_nodes=3, random_state=0).fit(*diabetes)
    assert ConvergenceDisplay.from_estimator(model, ax=ax).validation_lines_ == []


def test_a_network_without_nodes_can_be_drawn(diabetes, ax):
    X, _ = diabetes
    model = SCNRegressor(random_state=0).fit(X, X[:, 0])
    assert model.n_nodes_ == 0
    ConvergenceDisplay.from_estimator(model, ax=ax)


def test_the_network_at_the_end_of_a_pipeline(diabetes, ax):
    pipeline = make_pipeline(StandardScaler(), IRVFLRegressor(max_nodes=3, random_state=0)).fit(*diabetes)
    display = ConvergenceDisplay.from_estimator(pipeline, ax=ax)
    assert display.histories[0].tobytes() == pipeline[-1].history_.tobytes()


def test_other_estimators_are_refused(diabetes):
    with pytest.raises(TypeError, match="LinearRegression has no growth history"):
        ConvergenceDisplay.from_estimator(LinearRegression().fit(*diabetes))
