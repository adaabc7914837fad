"""docs/paper.md holds the numbers that were computed, and what it says in words is true of them."""

import re
import runpy
from pathlib import Path

import pytest

from skscn.experiments.tables import read_csv

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
CELLS = {number: read_csv(ROOT / "docs" / "reproduced" / f"table{number}.csv") for number in range(1, 6)}
SUPERVISED = [cell for group in CELLS.values() for cell in group if cell.method.startswith("SC-") and cell.ratio]


def ratios(quantity):
    return [cell.ratio for cell in SUPERVISED if quantity in cell.quantity]


def mean(data, method, quantity):
    (cell,) = [c for t in (1, 2) for c in CELLS[t] if (c.data, c.method, c.quantity) == (data, method, quantity)]
    return cell.ours.mean


def test_the_computed_parts_are_those_of_the_tables():
    assert runpy.run_path(str(ROOT / "docs" / "make_paper.py"))["filled"](PAGE) == PAGE


def test_the_results_are_of_100_trials():
    assert {cell.trials for group in CELLS.values() for cell in group} == {100}


def test_most_test_errors_are_above_the_papers_and_most_training_errors_below():
    assert sum(ratio > 1 for ratio in ratios("test")) > 0.75 * len(ratios("test"))
    assert sum(ratio < 1 for ratio in ratios("train")) > 0.5 * len(ratios("train"))
    assert "most test errors of SC-I, SC-II and SC-III are somewhat higher than the paper's" in PAGE


@pytest.mark.parametrize("data", ["DB3", "DB4"])
@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("nodes", [25, 50])
def test_modified_quickprop_is_ahead_of_sc_iii_where_the_page_says_so(data, part, nodes):
    quantity = f"{part} RMSE, L = {nodes}"
    assert mean(data, "MQ", quantity) < mean(data, "SC-III", quantity)
    assert "MQ has lower errors than SC-III on DB 3 and DB 4" in PAGE


def test_the_change_of_scopes_is_confessed():
    assert "No number is tuned" not in PAGE
    assert re.search(r"On DB 1 it was restricted to\s+\{100, 150, 200\}", PAGE)


def test_a_cell_far_from_the_papers_is_never_said_to_agree():
    rows = re.findall(r"\| (\d+\.\d\d) \| (agrees|better|worse) \|$", PAGE, re.MULTILINE)
    assert len(rows) > 100
    assert all(0.9 < float(ratio) < 1.1 for ratio, verdict in rows if verdict == "agrees")


def test_readme_and_page_say_the_same_about_the_time():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = [re.findall(r"about\s+(\w+\s+minutes on\s+\w+\s+cores?)", text) for text in (readme, PAGE)]
    assert [[" ".join(time.split()) for time in times] for times in said] == [["ten minutes on one core"]] * 2
