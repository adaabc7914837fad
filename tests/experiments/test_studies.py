import pytest

from skscn.experiments.studies import STUDIES, draw_study, findings, read_study, study_settings, write_study
from skscn.experiments.trials import Trial


def made_up(unit):
    (_, value), *_ = unit.parameters
    level = 0.01 + 0.001 * len(str(value)) + 0.01 * int(unit.data[-1])
    return [Trial([0.5, level], [0.5, level], [0.1, 0.2])] * 3


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_is_written_drawn_and_put_into_words(study, tmp_path):
    settings = study_settings(study, made_up)
    assert len(settings) == len(STUDIES[study]())
    write_study(settings, tmp_path / "study.csv")
    assert len((tmp_path / "study.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(settings)
    assert len(draw_study(settings).axes) == 4
    assert findings(settings)


def test_the_guideline_names_the_activation_of_lowest_rank():
    *_, guideline = findings(study_settings("activations", made_up))
    assert "Start with" in guideline
    best = guideline.split("Start with ")[1].split(";")[0]
    assert len(best) == 4  # of these trials the shortest names have the lowest errors


def test_sensitivity_varies_one_parameter_at_a_time():
    assert all(len(unit.parameters) == 1 for unit in STUDIES["sensitivity"]().values())
    assert {parameter for _, parameter, _ in STUDIES["sensitivity"]()} == {
        "max_candidates",
        "scopes",
        "contractions",
        "window",
    }


@pytest.mark.parametrize("study", STUDIES)
def test_settings_come_back_from_their_file(study, tmp_path):
    settings = study_settings(study, made_up)
    write_study(settings, tmp_path / "study.csv")
    assert findings(read_study(study, tmp_path / "study.csv")) == findings(settings)


@pytest.mark.parametrize("study", STUDIES)
def test_ticks_are_plain_numbers(study, assert_plain_ticks):
    assert_plain_ticks(draw_study(study_settings(study, made_up)))
