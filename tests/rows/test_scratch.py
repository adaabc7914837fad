import shutil
import tempfile
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from skscn.rows.files import ScratchArray, ScratchPanels, scratch_folder

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [None, 1, 3])
def test_an_array_keeps_what_is_written(width, dtype, tmp_path):
    truth = np.zeros((100,) if width is None else (100, width), dtype)
    with ScratchArray(tmp_path / "array", 100, width, dtype) as array:
        for rows in (slice(10, 40), slice(90, 200), slice(0, 0), slice(35, 60), slice(None, 5)):
            values = np.random.default_rng(rows.start or 0).normal(size=truth[rows].shape)
            truth[rows] = values
            array[rows] = values
        for rows in (slice(None), slice(3, 7), slice(95, 300), slice(50, 50), slice(60, 20)):
            read = array[rows]
            assert read.dtype == dtype
            np.testing.assert_array_equal(read, truth[rows])


def test_an_array_takes_any_layout_and_hands_out_copies(tmp_path):
    values = np.asfortranarray(np.random.default_rng(1).normal(size=(20, 3)))
    with ScratchArray(tmp_path / "array", 20, 3) as array:
        array[:] = values
        array[0:5][:] = 0.0
        np.testing.assert_array_equal(array[:], values)
        array[5:10] = 7.0
        assert (array[5:10] == 7.0).all()


def test_an_array_refuses_what_does_not_fit(tmp_path):
    with ScratchArray(tmp_path / "array", 20, 3) as array:
        with pytest.raises(ValueError, match="consecutive"):
            array[0:10:2]
        with pytest.raises(ValueError, match="broadcast"):
            array[0:5] = np.zeros((6, 3))


def test_threads_share_an_array(tmp_path):
    truth = np.random.default_rng(1).normal(size=(4000, 2))
    stretches = [slice(start, start + 50) for start in range(0, 4000, 50)]

    def square(rows):
        array[rows] = truth[rows]
        array[rows] = array[rows] ** 2
        return array[rows]

    with ScratchArray(tmp_path / "array", 4000, 2) as array, ThreadPoolExecutor(8) as threads:
        np.testing.assert_array_equal(np.concatenate(list(threads.map(square, stretches))), truth**2)
        np.testing.assert_array_equal(array[:], truth**2)


@pytest.mark.parametrize("panel", [1, 3, 64])
@pytest.mark.parametrize("n_rows", [7, 16, 50])
def test_panels_keep_a_growing_basis(n_rows, panel, tmp_path):
    truth, stretch = np.random.default_rng(1).normal(size=(8, n_rows)), 16
    stretches = [slice(start, min(start + stretch, n_rows)) for start in range(0, n_rows, stretch)]
    with ScratchPanels(tmp_path, n_rows, stretch=stretch, panel=panel) as panels:
        for place in range(8):
            for rows in stretches:
                panels[place:, rows] = truth[place, rows]
            for rows in stretches:
                for count in (0, 1, place + 1):
                    np.testing.assert_array_equal(panels[:count, rows], truth[:count, rows])
        for rows in stretches:
            panels[2:, rows] = -truth[2:7, rows]
            np.testing.assert_array_equal(panels[:8, rows], np.vstack([truth[:2], -truth[2:7], truth[7:]])[:, rows])


def test_panels_refuse_what_does_not_fit(tmp_path):
    with ScratchPanels(tmp_path, 50, stretch=16) as panels:
        with pytest.raises(ValueError, match="has 2 rows, not 16"):
            panels[0:, 48:50] = np.zeros(16)
        for start in (-16, 64):
            with pytest.raises(IndexError, match="no stretch"):
                panels[:1, start : start + 16]


def test_threads_share_panels(tmp_path):
    truth = np.random.default_rng(1).normal(size=(10, 1000))
    with ScratchPanels(tmp_path, 1000, stretch=16, panel=4) as panels, ThreadPoolExecutor(8) as threads:

        def write_and_read(index):
            rows = slice(index * 16, (index + 1) * 16)
            for place in range(10):
                panels[place:, rows] = truth[place, rows]
            return panels[:10, rows]

        np.testing.assert_array_equal(np.hstack(list(threads.map(write_and_read, range(63)))), truth)
    assert len(list(tmp_path.iterdir())) == 3


def test_files_take_no_memory(tmp_path):
    tracemalloc.start()
    with ScratchArray(tmp_path / "array", 1_000_000, 4) as array:
        for start in range(0, 1_000_000, 10_000):
            array[start : start + 10_000] = np.ones((10_000, 4))
        total = sum(array[start : start + 10_000].sum() for start in range(0, 1_000_000, 10_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 4_000_000
    assert peak < 2_000_000


def test_a_folder_is_removed_in_the_end(tmp_path):
    with scratch_folder(1000, tmp_path) as folder:
        assert folder.parent == tmp_path
        ScratchArray(folder / "array", 10).close()
    assert not list(tmp_path.iterdir())


def test_a_folder_is_removed_after_an_exception(tmp_path):
    def fail():
        with scratch_folder(1000, tmp_path) as folder, ScratchPanels(folder, 10, stretch=4) as panels:
            panels[0:, 0:4] = np.ones(4)
            raise RuntimeError("on the way")

    with pytest.raises(RuntimeError, match="on the way"):
        fail()
    assert not list(tmp_path.iterdir())


def test_a_folder_is_where_temporary_files_belong(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with scratch_folder(1000) as folder:
        assert folder.parent == tmp_path


def test_too_full_a_disk_is_said(tmp_path):
    needed = 2 * shutil.disk_usage(tmp_path).total
    with (
        pytest.raises(OSError, match="GB of temporary files, but .* GB left; free some space, or set TMPDIR"),
        scratch_folder(needed, tmp_path),
    ):
        pass
    assert not list(tmp_path.iterdir())
