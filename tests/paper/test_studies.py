import pytest

from skscn.paper.studies import EXPERIMENTS, STUDIES, depth_units, draw_study, findings, read_study, study_settings
from skscn.paper.tables import write_rows
from skscn.paper.trials import Trial


def made_up(unit):
    (_, value), *_ = unit.parameters
    level = 0.01 + 0.001 * len(str(value)) + 0.01 * int(unit.data[-1])
    return [Trial([0.5, level], [0.5, level], [0.1, 0.2])] * 3


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_is_written_drawn_and_put_into_words(study, tmp_path):
    settings = study_settings(study, made_up)
    assert len(settings) == len(STUDIES[study])
    experiment = EXPERIMENTS[study]
    write_rows(tmp_path / "study.csv", *experiment.rows(made_up))
    assert len((tmp_path / "study.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(settings)
    assert len(experiment.draw(made_up).axes) == 4
    assert experiment.findings(made_up) == findings(settings)


def test_the_guideline_names_the_activation_of_lowest_rank():
    *_, guideline = findings(study_settings("activations", made_up))
    assert "Start with" in guideline
    best = guideline.split("Start with ")[1].split(";")[0]
    assert len(best) == 4  # of these trials the shortest names have the lowest errors


def test_sensitivity_varies_one_parameter_at_a_time():
    assert all(len(unit.parameters) == 1 for unit in STUDIES["sensitivity"].values())
    assert {parameter for _, parameter, _ in STUDIES["sensitivity"]} == {
        "max_candidates",
        "scopes",
        "contractions",
        "window",
    }


@pytest.mark.parametrize("study", STUDIES)
def test_settings_come_back_from_their_file(study, tmp_path):
    write_rows(tmp_path / "study.csv", *EXPERIMENTS[study].rows(made_up))
    assert findings(read_study(tmp_path / "study.csv")) == EXPERIMENTS[study].findings(made_up)


@pytest.mark.parametrize("study", STUDIES)
def test_ticks_are_plain_numbers(study, assert_plain_ticks):
    assert_plain_ticks(draw_study(study_settings(study, made_up)))


def of_depth(unit):
    """Errors that fall with every node, and twice as fast with two layers."""
    layers = dict(unit.parameters)["max_layers"]
    errors = [0.5 / layers / nodes for nodes in range(1, 61)]
    return [Trial(errors, errors, errors)] * 2


def test_depths_are_drawn_written_and_put_into_words(tmp_path, assert_plain_ticks):
    deep = EXPERIMENTS["deep"]
    figure = deep.draw(of_depth)
    assert [len(ax.lines) for ax in figure.axes] == [5] * 4
    assert_plain_ticks(figure)
    write_rows(tmp_path / "deep.csv", *deep.rows(of_depth))
    lines = (tmp_path / "deep.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 2 * 5
    assert all("2: 0.50" in sentence for sentence in deep.findings(of_depth))


def test_one_layer_is_run_once_for_all_that_others_see():
    assert len(depth_units()) == 2 * (1 + 2 * 4)
