import numpy as np

from skscn.experiments.depth import depth_findings, depth_unit, depth_units, draw_depths, write_depths
from skscn.experiments.trials import Trial, product_of_sines


def made_up(unit):
    """Errors that fall with every node, and twice as fast with two layers."""
    layers = dict(unit.parameters)["max_layers"]
    errors = [0.5 / layers / nodes for nodes in range(1, 61)]
    return [Trial(errors, errors, errors)] * 2


def test_depths_are_drawn_written_and_put_into_words(tmp_path, assert_plain_ticks):
    figure = draw_depths(made_up)
    assert [len(ax.lines) for ax in figure.axes] == [5] * 4
    assert_plain_ticks(figure)
    write_depths(made_up, tmp_path / "deep.csv")
    lines = (tmp_path / "deep.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 2 * 5
    assert all("2: 0.50" in sentence for sentence in depth_findings(made_up))


def test_one_layer_is_run_once_for_all_that_others_see():
    assert depth_unit("DB1", "output", 1) == depth_unit("DB1", "previous", 1)
    assert len(depth_units()) == 2 * (1 + 2 * 4)


def test_the_product_of_sines():
    X, X_test, y, y_test = product_of_sines(0)
    np.testing.assert_allclose(y_test[0], np.prod([np.sin(np.pi * x) for x in X_test[0]]))
    assert X.shape == X_test.shape == (2000, 6)
    assert (y > 0).all()
