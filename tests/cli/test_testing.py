import numpy as np

from skscn.judging.scores import Baseline, classification_scores, true_class_shares
from skscn.table_model.testing import split


def test_parts_have_their_share_of_every_class_and_miss_no_row():
    y = np.repeat(["a", "b"], [90, 10])
    folds = split(y, "classification", 5, every_part=True)
    assert [list(y[test]).count("b") for _, test in folds.parts] == [2] * 5
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds.parts])), np.arange(100))


def test_of_many_rows_one_part_is_tested():
    folds = split(np.arange(100.0), "regression", 5, every_part=False)
    assert len(folds.parts) == 1
    assert folds.count == 5
    assert len(folds.parts[0][1]) == 20


def test_a_part_without_which_one_class_is_left_is_left_out():
    y = np.array(["a"] * 19 + ["b"])
    assert len(split(y, "classification", 5, every_part=True).parts) == 4


def test_no_parts():
    assert split(np.arange(9.0), "regression", 0, every_part=True).parts == []


def test_a_class_that_training_did_not_have_costs_much_and_breaks_nothing():
    baseline = Baseline.of(np.array(["a", "a", "b"]), "classification")
    scores = baseline.scores(np.array(["a", "z"]))
    assert scores["accuracy"] == 0.5
    assert np.isfinite(scores["log_loss"])
    assert scores["log_loss"] > 10
    shares = true_class_shares(np.array(["b", "0"]), np.array(["a", "b"]), np.array([[0.25, 0.75], [0.5, 0.5]]))
    np.testing.assert_array_equal(shares, [0.75, 0])
    assert classification_scores(np.array([1]), np.array([1]), np.array([1.0])) == {"accuracy": 1.0, "log_loss": 0.0}
