"""docs/paper.md holds the numbers that were computed, and what it says in words is true of them."""

import re
import runpy
from pathlib import Path

import pytest

from skscn.paper.page import Reading, Report
from skscn.paper.tables import read_csv

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
READINGS = {
    search: Reading(search, {n: read_csv(ROOT / "docs" / "reproduced" / f"table{n}{suffix}.csv") for n in range(1, 6)})
    for search, suffix in {"ladder": "", "renewal": "_renewal"}.items()
}
CELLS = READINGS["ladder"].cells
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


def test_the_page_uses_the_search_that_comes_closest_by_a_wide_margin():
    report = Report(list(READINGS.values()), trials=100, seed=0)
    first, second = report.closeness
    assert report.closest.search == first.search == "ladder"
    assert (first.cells, second.cells) == (92, 92)
    assert first.percent > second.percent + 20
    assert 'figures below are those of the search `"ladder"`' in " ".join(PAGE.split())
    assert re.search(rf"\| ladder \| 100 \| {first.ratio:.2f} \| {first.close} of 92", PAGE)
    assert re.search(rf"\| renewal \| \d+ \| {second.ratio:.2f} \| {second.close} of 92", PAGE)


def test_renewal_learns_faster_than_the_paper_except_where_the_page_says_so():
    cells = [cell for cell in READINGS["renewal"].supervised if "test" not in cell.quantity]
    slower = {(cell.data, cell.method) for cell in cells if cell.ratio > 1.0}
    assert slower == {("DB1", "SC-I"), ("DB1", "SC-II, K = 5")}
    assert "except for SC-I and for SC-II with K = 5 on DB 1" in PAGE


@pytest.mark.parametrize("search", READINGS)
def test_test_errors_on_db2_and_db3_are_higher_than_the_papers(search):
    cells = [c for c in READINGS[search].cells[2] if c.data in ("DB2", "DB3") and c.method in ("SC-II", "SC-III")]
    ratios = [cell.ratio for cell in cells if "test" in cell.quantity]
    assert 1.0 < min(ratios) < max(ratios) < 1.2
    assert "higher than the paper's, with both searches, by about a tenth" in PAGE


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
    cells = re.findall(r"(\d+\.\d+) → (\*{0,2})(\d+\.\d+)\2 \|", PAGE)
    assert len(cells) > 100
    assert all(0.9 < float(ours) / float(paper) < 1.1 for paper, mark, ours in cells if not mark)
    assert all(float(ours) > float(paper) for paper, mark, ours in cells if mark == "**")


def test_readme_and_page_say_the_same_about_the_time():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = [re.findall(r"about\s+(\w+\s+minutes on\s+\w+\s+cores?)", text) for text in (readme, PAGE)]
    assert [[" ".join(time.split()) for time in times] for times in said] == [["ten minutes on one core"]] * 2
