"""Two readings of the paper's search: their trials are kept apart, and one measure compares them."""

import pytest

from skscn.paper.page import Closeness, Reading, Report, closeness
from skscn.paper.reported import METHODS, Reported
from skscn.paper.reproduce import NAMES, TARGETS, file_name, units_of
from skscn.paper.tables import Cell, table_cells
from skscn.paper.trials import FIRST_SEARCH, SCOPES, SEARCHES, Trial, TrialStore, Unit
from skscn.search import CONFIGURATIONS


def cell(ours, *, method="SC-I", table=1):
    """A cell of 100 trials without spread, in which the paper has 1."""
    mean = None if ours is None else Reported(ours, 0.0)
    return Cell(table, "DB1", method, f"train RMSE, L = {ours}", Reported(1.0, 0.0), mean, 100, 100)


def test_searches_are_registered():
    assert set(SEARCHES) == set(SCOPES) <= set(CONFIGURATIONS)
    assert FIRST_SEARCH in SEARCHES


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_is_that_of_its_networks(search):
    model = Unit("DB2", "SC-II", 5, (("window", 3),)).searched(search).estimator()
    assert (model.configuration, model.window, len(model.scopes)) == (search, 3, 8)


def test_baselines_have_the_same_trials_with_every_search(tmp_path):
    store = TrialStore(tmp_path / "trials.jsonl", 0)
    for method in METHODS:
        store.keep(Unit("DB1", method, 5), 0, Trial([0.1], [0.1], [1.0]))
    missing = [unit.method for unit, _ in store.missing(units_of("table1", "renewal"), 1)]
    assert missing == list(METHODS)
    shorter = [Unit("DB1", method, 5).searched("renewal") for method in METHODS]
    assert [unit.method for unit, _ in store.missing(shorter, 1)] == ["SC-I", "SC-II", "SC-III"]


def test_trials_from_before_there_was_a_choice_are_those_of_the_first_search():
    assert "search" not in Unit("DB1", "SC-I", 5).describe()
    assert Unit("DB1", "SC-I", 5).searched("renewal").describe()["search"] == "renewal"


def test_files_of_the_searches_have_different_names():
    names = [file_name(name, search) for name in TARGETS for search in SEARCHES]
    assert len(set(names)) == len(names)
    assert set(NAMES) - {"all"} <= set(names)


def test_closeness_counts_both_sides():
    cells = [cell(1.0), cell(1.04), cell(0.96), cell(1.06), cell(0.5), cell(0.4), cell(None)]
    assert Closeness.of("ladder", cells) == Closeness("ladder", 100, 1.0, 7, close=3, below=2, above=2)


def test_too_low_is_as_far_from_the_paper_as_too_high():
    low, near = Reading("low", {1: [cell(0.1), cell(1.0)]}), Reading("near", {1: [cell(1.04), cell(0.96)]})
    assert [one.search for one in closeness([low, near])] == ["near", "low"]
    assert Report([low, near], 100, 0).closest is near


def test_only_tables_that_all_readings_have_are_compared():
    more = Reading("more", {1: [cell(1.0)], 2: [cell(9.0, table=2)]})
    less = Reading("less", {1: [cell(9.0)]})
    assert [(one.search, one.cells, one.close) for one in closeness([more, less])] == [("more", 1, 1), ("less", 1, 0)]


def test_baselines_are_not_compared_and_a_single_reading_has_no_rival():
    alone = Reading("ladder", {1: [cell(1.0, method="MQ"), cell(1.0)]})
    assert [one.cells for one in closeness([alone])] == [1]
    assert Report([alone], 100, 0).comparison() == []
    assert Report([Reading("ladder", {})], 100, 0).closest.search == "ladder"


def test_both_readings_are_on_the_page(tmp_path):
    def results(error):
        return lambda unit: [Trial([error], [error], [1.0])]

    readings = [Reading("ladder", {1: table_cells(1, results(0.05)), 4: table_cells(4, results(0.05))})]
    readings += [Reading("renewal", {1: table_cells(1, results(0.0421))})]
    report = Report(readings, 1, 0)
    report.write_page(tmp_path / "index.html")
    report.write_markdown(tmp_path / "index.md")
    page, text = ((tmp_path / name).read_text(encoding="utf-8") for name in ("index.html", "index.md"))
    for search, explanation in SEARCHES.items():
        assert f"Search: {search}" in page
        assert f"## {search}\n\nThe search, {search}: {explanation}" in text
    assert text.count("| paper | ladder | ratio | | renewal | ratio | |") == 1
    assert text.count("| paper | ladder | ratio | |\n") == 1
    assert "| SC-I | train RMSE, L = 25 | 0.0927 ± 0.0020 | 0.0500 ± 0.0000 | 0.54 |" in text
    assert page.count("0.0421 ± 0.0000") == 20 + sum(one.verdict == "worse" for one in readings[1].supervised)
