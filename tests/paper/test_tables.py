import pytest

from skscn.paper.figures import FIGURES, draw_curves, mean_curve
from skscn.paper.reported import METHODS, TABLE1, TABLE2, TABLE3, TABLE4, TABLE5, Reported
from skscn.paper.tables import Cell, claims, read_csv, table_cells, table_units, write_csv
from skscn.paper.trials import Trial

# Made-up trials with the paper's own order.
LEVELS = {"MQ": 0.06, "IRVFL": 0.2, "SC-I": 0.1, "SC-II": 0.04, "SC-III": 0.03}


def made_up(unit):
    level = LEVELS[unit.method] - dict(unit.parameters).get("window", 0) / 10_000
    return [Trial([0.5, level], [0.5, 1.1 * level], [0.1, 0.2]), Trial([0.5, level], [0.5, 1.1 * level], [0.1, 0.2])]


def as_in_the_paper(unit):
    """One trial with the paper's own errors, where a table has them."""
    reported = TABLE1 if unit.data == "DB1" else TABLE2[unit.data]
    if unit.parameters or (unit.method, "train", 25) not in reported:
        return made_up(unit)
    curves = [
        [reported[unit.method, part, 25 if nodes <= 25 else 50].mean for nodes in range(1, 51)]
        for part in ("train", "test")
    ]
    return [Trial(*curves, [0.1] * 50)]


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
    ("ours", "verdict"),
    [(0.1, "agrees"), (0.1028, "agrees"), (0.1029, "worse"), (0.0972, "agrees"), (0.0971, "better"), (0.138, "worse")],
)
def test_a_cell_agrees_within_two_standard_errors_of_the_difference(ours, verdict):
    """Both deviations are .01, both means of 100 trials: twice the standard error is .00284."""
    cell = Cell(1, "DB1", "SC-I", "train", Reported(0.1, 0.01), Reported(ours, 0.01), 100, 100)
    assert cell.verdict == verdict
    assert cell.ratio == pytest.approx(ours / 0.1)


@pytest.mark.parametrize(
    ("ours", "close"), [(0.1, True), (0.1078, True), (0.1079, False), (0.0922, True), (0.0921, False)]
)
def test_a_cell_is_close_within_the_noise_and_five_percent_on_either_side(ours, close):
    """Both deviations are .01, both means of 100 trials: twice the standard error is .00284, five percent are .005."""
    assert Cell(1, "DB1", "SC-I", "train", Reported(0.1, 0.01), Reported(ours, 0.01), 100, 100).is_close is close


def test_few_trials_prove_little_and_a_single_one_less():
    paper = Reported(0.1, 0.01)
    verdicts = [Cell(1, "DB1", "SC-I", "train", paper, Reported(0.11, 0.01), n, n).verdict for n in (2, 4, 100)]
    assert verdicts == ["agrees", "agrees", "worse"]
    assert Cell(1, "DB1", "SC-I", "train", paper, Reported(0.119, 0.0), 1, 1).verdict == "agrees"


def test_a_mean_without_deviation_is_judged_by_ours():
    assert Cell(4, "DB1", "SC-II", "nodes", Reported(25.07), Reported(26.52, 10.34), 100, 100).verdict == "agrees"
    assert Cell(4, "DB1", "SC-II", "nodes", Reported(99.99), Reported(214.26, 46.23), 100, 90).verdict == "worse"


def test_dashes_of_the_paper_are_cells_too():
    never = Cell(3, "DB1", "SC-I", "nodes", None, None, 10, 0)
    now = Cell(3, "DB1", "SC-I", "nodes", None, Reported(30.0, 1.0), 10, 10)
    assert (never.verdict, now.verdict) == ("agrees", "better")
    assert Cell(3, "DB1", "SC-II", "nodes", Reported(26.0, 8.0), None, 10, 0).verdict == "worse"


def all_cells(results):
    return {table: table_cells(table, results) for table in range(1, 6)}


def test_claims_hold_where_they_hold_and_not_where_they_do_not():
    cells = all_cells(as_in_the_paper)
    assert len(claims(cells)) == 11
    assert all(claim.holds for claim in claims(cells))

    def reversed_order(unit):
        return [Trial([0.01 / trial.train[-1]], [0.01 / trial.train[-1]], [0.1]) for trial in made_up(unit)]

    backwards = all_cells(reversed_order)
    del backwards[3]
    assert not any(claim.holds for claim in claims(backwards))


def test_modified_quickprop_takes_part_in_the_order():
    def quickprop_first(unit):
        return [Trial([0.001], [0.001], [0.1])] if unit.method == "MQ" else as_in_the_paper(unit)

    failed = [claim for claim in claims(all_cells(quickprop_first)) if not claim.holds]
    assert [claim.text.split(", MQ included")[0] for claim in failed] == [
        f"the order of all five methods on DB{number}" for number in (1, 2, 3, 4)
    ]
    assert "MQ is ahead of SC-III (train 25: 0.0010 against 0.0332" in failed[0].detail


def test_tables_and_figures_share_their_trials():
    assert set(FIGURES["figure1"].units) == set(table_units(1)) <= set(table_units(3))
    assert len(FIGURES["figure4"].units) == 10
    assert len(table_units(2)) == 3 * len(METHODS)


@pytest.mark.parametrize("table", range(1, 6))
def test_cells_come_back_from_their_file(table, tmp_path):
    cells = table_cells(table, made_up)
    write_csv(cells, tmp_path / "table.csv")
    assert read_csv(tmp_path / "table.csv") == cells


def test_csv_has_a_row_for_each_cell(tmp_path):
    cells = table_cells(3, made_up)
    write_csv(cells, tmp_path / "table3.csv")
    lines = (tmp_path / "table3.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(cells)
    assert lines[0].startswith("table,data,method,quantity,paper_mean,paper_std,mean,std")


def test_mean_curves_go_on_with_the_last_error():
    trials = [Trial([0.4, 0.2], [0.4, 0.2], [1.0, 2.0]), Trial([0.2], [0.2], [1.0])]
    assert mean_curve(trials, "train", 3).tolist() == pytest.approx([0.3, 0.2, 0.2])


@pytest.mark.parametrize("error", [0.091, 0.5])
def test_ticks_of_figures_are_plain_numbers(error, assert_plain_ticks):
    curves = {"SC-III": [Trial([0.095, error], [0.095, error], [1.0, 2.0])]}
    assert_plain_ticks(draw_curves(curves, {"SC-III": {}}, 2, logarithmic=True))
