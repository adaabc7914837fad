"""The benchmark of streams, and the tables that it writes."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "stream_parts"]:
        del sys.modules[name]


def test_tables_of_the_page_are_those_of_the_results():
    from stream_parts.page import renewed

    text = (ROOT / "docs" / "evidence_streams.md").read_text(encoding="utf-8")
    assert renewed(text, ROOT / "docs") == text


def test_streams_have_their_regimes():
    from stream_parts.drifting import drifting_streams

    for stream in drifting_streams(1000):
        assert stream.starts == (0, 200, 400, 600, 800)
        assert len(stream.X) == len(stream.y) == 1000
        assert np.isfinite(stream.X).all()
        assert np.isfinite(stream.y).all()


def test_alarms_after_a_change_are_founded():
    from stream_parts.following import extremes, unfounded

    assert unfounded(np.array([210, 430, 900]), (0, 200, 400, 600, 800), 1000) == 1
    hits = np.repeat([True, False], [3000, 1000])
    assert extremes(hits) == (0.5, 1.0)
