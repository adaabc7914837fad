"""DB 1 of the paper: a function of one input with two spikes, after Tyukin and Prokhorov (2009)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sklearn.utils import Bunch


def db1_function(x: np.ndarray) -> np.ndarray:
    """f(x) = 0.2 e^{−(10x−4)²} + 0.5 e^{−(80x−40)²} + 0.3 e^{−(80x−20)²}."""
    return (
        0.2 * np.exp(-((10.0 * x - 4.0) ** 2))
        + 0.5 * np.exp(-((80.0 * x - 40.0) ** 2))
        + 0.3 * np.exp(-((80.0 * x - 20.0) ** 2))
    )


def make_db1(
    n_train: int = 1000, n_test: int = 300, *, random_state: int | np.random.RandomState | None = None
) -> Bunch:
    """Make DB 1: training inputs uniform on [0, 1], test inputs on a regular grid.

    Parameters
    ----------
    n_train, n_test : int
        Numbers of rows; the defaults are those of the paper.
    random_state : int, RandomState instance or None, default=None
        Seed of the training inputs.

    Returns
    -------
    Bunch
        With data, target (training) and test_data, test_target.

    Examples
    --------
    >>> from skscn.datasets import make_db1
    >>> db1 = make_db1(random_state=0)
    >>> db1.data.shape, db1.test_data.shape
    ((1000, 1), (300, 1))
    """
    from sklearn.utils import Bunch, check_random_state

    train = check_random_state(random_state).uniform(size=(n_train, 1))
    test = np.linspace(0.0, 1.0, n_test)[:, np.newaxis]
    return Bunch(
        data=train,
        target=db1_function(train[:, 0]),
        test_data=test,
        test_target=db1_function(test[:, 0]),
        feature_names=["x"],
        target_names=["f"],
        DESCR=make_db1.__doc__,
    )
