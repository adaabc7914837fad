"""Figures that sentences of README.md and docs/ repeat are those of the results."""

import importlib
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PROGRAM = runpy.run_path(str(DOCS / "make_figures.py"))
SENTENCES, filled = PROGRAM["SENTENCES"], PROGRAM["filled"]


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def figures():
    """All figures, as they are written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield PROGRAM["all_figures"]()


@pytest.mark.parametrize("path", SENTENCES)
def test_sentences_have_the_figures_of_the_results(figures, path):
    text = text_of(path)
    assert filled(text, SENTENCES[path], figures) == text, "python docs/make_figures.py fills them in"


def test_figures_are_filled_in_and_the_rest_stays():
    page = "Before. The ensemble won\n9 tables of 15; it took 2.6 s. After | 9 |\n"
    sentences = ["ensemble won {won} tables of {sets};", "it took {time} s."]
    assert filled(page, sentences, {"won": "10", "sets": "15", "time": "3.1"}) == (
        "Before. The ensemble won\n10 tables of 15; it took 3.1 s. After | 9 |\n"
    )
    with pytest.raises(ValueError, match="no sentence such as: it lost"):
        filled(page, ["it lost {lost} tables"], {"lost": "1"})


@pytest.mark.parametrize("path", SENTENCES)
def test_figures_are_between_words_that_stay(path):
    assert [text for text in SENTENCES[path] if re.match(r"\{", text) or text.endswith("}")] == []


def test_tables_of_the_page_on_performance_are_those_of_its_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    store = importlib.import_module("speed_parts.results").ResultStore(DOCS / "speed_results.jsonl")
    text = text_of("docs/performance.md")
    assert importlib.import_module("speed").page_text(text, store) == text


@pytest.mark.parametrize("path", ["docs/stopping.md", "docs/comparison.md", "docs/deep.md"])
def test_pages_agree_on_the_bounds_of_predictions(path):
    text = " ".join(text_of(path).split())
    assert re.search(r"range of the training targets, extended by a twentieth", text)
