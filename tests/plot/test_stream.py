import numpy as np
import pytest

from skscn.online import StreamRecord
from skscn.online._learner import EventLog
from skscn.plot import StreamDisplay

RNG = np.random.default_rng(0)


def record(n_rows=300, *, intervals=True):
    y = RNG.normal(size=n_rows)
    log = EventLog()
    log.note(100, "alarm", "drift", 5)
    log.note(120, "grown", "drift", 6)
    return StreamRecord(
        y_true=y,
        y_pred=np.zeros(n_rows),
        lower=np.full(n_rows, -1.0) if intervals else None,
        upper=np.full(n_rows, 1.0) if intervals else None,
        n_nodes=np.repeat([3, 6], n_rows // 2),
        events=log.table,
        first=1,
        seconds=1.0,
        classified=False,
    )


def test_lines_are_moving_means_of_the_rows():
    found = record()
    display = StreamDisplay(found, window=50).plot()
    error, coverage = display.error_line_, display.coverage_line_
    np.testing.assert_allclose(error.get_ydata()[0], np.abs(found.y_true[:50]).mean())
    np.testing.assert_allclose(coverage.get_ydata()[-1], (np.abs(found.y_true[-50:]) <= 1).mean())
    np.testing.assert_array_equal(error.get_xdata()[[0, -1]], [50, 300])
    np.testing.assert_array_equal(display.nodes_line_.get_ydata(), found.n_nodes)
    assert [line.get_xdata()[0] for line in display.alarm_lines_] == [100]


def test_parts_that_a_record_does_not_have_are_left_out(ax):
    display = StreamDisplay(record(intervals=False), window=1000).plot()
    assert len(display.axes_) == 2
    assert display.coverage_line_ is None
    assert len(display.error_line_.get_xdata()) == 1
    with pytest.raises(ValueError, match="3 parts to draw, but there are 1 axes"):
        StreamDisplay(record()).plot([ax])
    with pytest.raises(ValueError, match="window must be at least 1"):
        StreamDisplay(record(), window=0)
