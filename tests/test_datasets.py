"""Simulated tables to try things out with, and the names of the other data sets."""

import numpy as np
import pandas as pd
import pytest

from skscn import datasets
from skscn.datasets import EXAMPLES, make_flats, make_plant


@pytest.mark.parametrize("name", datasets.__all__)
def test_every_name_is_there(name):
    assert getattr(datasets, name) is not None
    assert name in dir(datasets)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'load_stocks'"):
        _ = datasets.load_stocks


@pytest.mark.parametrize("make", EXAMPLES.values())
def test_the_same_seed_gives_the_same_table(make):
    one, same, other = make(50, random_state=1), make(50, random_state=1), make(50, random_state=2)
    assert one == same
    assert one != other
    assert {len(values) for values in one.values()} == {50}


def test_flats_have_columns_of_all_kinds():
    flats = pd.DataFrame(make_flats(300, random_state=0))
    assert flats["heating"].isna().any()
    assert flats["built"].isna().any()
    assert flats["balcony"].dtype == bool
    assert flats["rent"].corr(flats["size"]) > 0.5


def test_a_longer_plant_begins_like_a_shorter_one():
    short, long = make_plant(100, random_state=0), make_plant(200, random_state=0)
    assert {name: values[:100] for name, values in long.items()} == short


def test_the_quality_of_the_plant_answers_late():
    plant = make_plant(2000, random_state=0)
    steam, quality = np.array(plant["steam"]), np.array(plant["quality"])
    answers = [np.corrcoef(steam[: 2000 - lag], quality[lag:])[0, 1] for lag in range(20)]
    assert np.argmax(answers) == 8
