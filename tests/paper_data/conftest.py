import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import train_test_split


@pytest.fixture(scope="session")
def split():
    """A function that loads a data set of the paper and splits it 75 to 25."""

    def load(name, seed):
        table = np.loadtxt(Path(os.environ["SKSCN_DATA"]) / f"{name}.csv", delimiter=",", skiprows=1)
        return train_test_split(table[:, :-1], table[:, -1], test_size=0.25, random_state=seed)

    return load
