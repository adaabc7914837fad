"""Simulated tables, DB 1, and finding, verifying and downloading the paper's real data sets.

Nothing here uses the network or the real files.
"""

from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from skscn.datasets import (
    EXAMPLES,
    DataFileError,
    db1_function,
    load_concrete,
    load_stock,
    make_db1,
    make_flats,
    make_plant,
)


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


def test_db1_is_the_papers():
    db1 = make_db1(random_state=0)
    assert db1.data.shape == (1000, 1)
    np.testing.assert_allclose(db1.test_data[:, 0], np.arange(300) / 299)
    np.testing.assert_array_equal(db1.target, db1_function(db1.data[:, 0]))


def test_the_two_spikes_and_the_hill_are_where_the_formula_puts_them():
    assert db1_function(np.array(0.5)) == pytest.approx(0.5 + 0.2 * np.exp(-1))
    assert db1_function(np.array(0.25)) == pytest.approx(0.3 + 0.2 * np.exp(-2.25))
    assert db1_function(np.array(0.4)) == pytest.approx(0.2)


@pytest.fixture(autouse=True)
def empty_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setenv("SKSCN_DATA", str(tmp_path / "named"))
    (tmp_path / "named").mkdir()


@pytest.fixture
def offline(monkeypatch):
    def refuse(**settings):
        raise URLError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


def made_up_stock():
    rng = np.random.default_rng(0)
    return rng.normal(size=(950, 9)), np.r_[34.0, 62.0, rng.uniform(34, 62, size=948)]


def test_offline_and_without_a_file_the_error_says_what_to_do(offline):
    with pytest.raises(DataFileError, match=r"put stock\.csv \(target last\) or KEEL's stock\.dat into one of them"):
        load_stock()


def test_a_download_is_kept_and_read_again(monkeypatch, offline):
    data, target = made_up_stock()
    asked = []

    def fetch(data_id, **settings):
        asked.append(data_id)
        return Bunch(data=data, target=target.astype(str), feature_names=[f"Company{i}" for i in range(1, 10)])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    first, second = load_stock(), load_stock()
    assert asked == [223]
    np.testing.assert_array_equal(first.data, data)
    np.testing.assert_array_equal(second.target, target)
    assert second.target_names == ["Company10"]


@pytest.mark.parametrize("change", ["rows", "range", "words"])
def test_another_file_of_that_name_is_refused(tmp_path, offline, change):
    data, target = made_up_stock()
    if change == "rows":
        data, target = data[:-1], target[:-1]
    if change == "range":
        target = target + 100
    lines = [",".join(map(str, [*row, value])) for row, value in zip(data, target, strict=True)]
    if change == "words":
        lines[5] = ",".join(["red"] * 10)
    (tmp_path / "named" / "stock.csv").write_text("\n".join(["a,b,c,d,e,f,g,h,i,y", *lines]), encoding="utf-8")
    with pytest.raises(DataFileError, match="stock"):
        load_stock()


def test_each_set_has_its_own_file(offline):
    with pytest.raises(DataFileError, match="concrete"):
        load_concrete()
