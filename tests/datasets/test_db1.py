import numpy as np
import pytest

from skscn.datasets import db1_function, make_db1


def test_db1_is_the_papers():
    db1 = make_db1(random_state=0)
    assert db1.data.shape == (1000, 1)
    np.testing.assert_allclose(db1.test_data[:, 0], np.arange(300) / 299)
    np.testing.assert_array_equal(db1.target, db1_function(db1.data[:, 0]))


def test_the_two_spikes_and_the_hill_are_where_the_formula_puts_them():
    assert db1_function(np.array(0.5)) == pytest.approx(0.5 + 0.2 * np.exp(-1))
    assert db1_function(np.array(0.25)) == pytest.approx(0.3 + 0.2 * np.exp(-2.25))
    assert db1_function(np.array(0.4)) == pytest.approx(0.2)
