import pytest

from skscn.experiments.figures import figure_units, mean_curve
from skscn.experiments.paper import METHODS, TABLE1, TABLE2, TABLE3, TABLE4, TABLE5, Reported
from skscn.experiments.tables import Cell, claims, table_cells, table_units, write_csv
from skscn.experiments.trials import Trial

# Made-up trials with the paper's own order.
LEVELS = {"MQ": 0.06, "IRVFL": 0.2, "SC-I": 0.1, "SC-II": 0.04, "SC-III": 0.03}


def made_up(unit):
    level = LEVELS[unit.method] - dict(unit.parameters).get("window", 0) / 10_000
    return [Trial([0.5, level], [0.5, 1.1 * level], [0.1, 0.2]), Trial([0.5, level], [0.5, 1.1 * level], [0.1, 0.2])]


def test_every_number_of_the_papers_tables_has_a_cell():
    cells = [cell for table in range(1, 6) for cell in table_cells(table, made_up)]
    assert len(cells) == 20 + 60 + 20 + 3 * 7 + 3 * 5
    assert [len(table_cells(table, made_up)) for table in (1, 2)] == [len(TABLE1), sum(map(len, TABLE2.values()))]
    assert sum(cell.method.startswith("SC-") and cell.paper is not None for cell in cells) == 92


def test_the_papers_numbers_are_typed_as_they_are_printed():
    assert TABLE1["SC-III", "train", 50] == Reported(0.0097, 0.0036)
    assert TABLE2["DB4"]["SC-II", "test", 25] == Reported(0.0773, 0.0039)
    assert TABLE3["DB2", "MQ"][1] == Reported(34.1809, 3.5680)
    assert TABLE4[5].nodes == Reported(99.99)
    assert TABLE5[25].test == Reported(0.0405, 0.0013)


@pytest.mark.parametrize(
    ("ours", "verdict"), [(0.10, "within"), (0.124, "within"), (0.126, "beyond"), (0.076, "within"), (0.074, "better")]
)
def test_a_cell_agrees_within_two_deviations_and_five_percent(ours, verdict):
    cell = Cell(1, "DB1", "SC-I", "train", Reported(0.1, 0.01), Reported(ours, 0.0), 10, 10)
    assert cell.verdict == verdict
    assert cell.agrees == (verdict != "beyond")
    assert cell.ratio == pytest.approx(ours / 0.1)


def test_dashes_of_the_paper_are_cells_too():
    never = Cell(3, "DB1", "SC-I", "nodes", None, None, 10, 0)
    now = Cell(3, "DB1", "SC-I", "nodes", None, Reported(30.0, 1.0), 10, 10)
    assert (never.verdict, now.verdict) == ("as in the paper", "reached here")
    assert Cell(3, "DB1", "SC-II", "nodes", Reported(26.0, 8.0), None, 10, 0).verdict == "not reached"


def test_claims_hold_where_they_hold_and_not_where_they_do_not():
    assert all(claim.holds for claim in claims(made_up, [1, 2, 3, 4, 5]))

    def reversed_order(unit):
        return [Trial([0.01 / trial.train[-1]], [0.01 / trial.train[-1]], [0.1]) for trial in made_up(unit)]

    assert not any(claim.holds for claim in claims(reversed_order, [1, 2, 4, 5]))
    assert len(claims(made_up, [1, 2, 3, 4, 5])) == 7


def test_tables_and_figures_share_their_trials():
    assert set(figure_units(1)) == set(table_units(1)) <= set(table_units(3))
    assert len(figure_units(4)) == 10
    assert len(table_units(2)) == 3 * len(METHODS)


def test_csv_has_a_row_for_each_cell(tmp_path):
    cells = table_cells(3, made_up)
    write_csv(cells, tmp_path / "table3.csv")
    lines = (tmp_path / "table3.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(cells)
    assert lines[0].startswith("table,data,method,quantity,paper_mean,paper_std,mean,std")


def test_mean_curves_go_on_with_the_last_error():
    trials = [Trial([0.4, 0.2], [0.4, 0.2], [1.0, 2.0]), Trial([0.2], [0.2], [1.0])]
    assert mean_curve(trials, "train", 3).tolist() == pytest.approx([0.3, 0.2, 0.2])
