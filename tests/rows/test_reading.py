"""Sources are read once, into memory or into temporary files."""

import pickle
import tracemalloc
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from skscn import SCNRegressor
from skscn.readers.arrow_files import ParquetFile
from skscn.readers.text_files import TextFile, _QuoteCounter
from skscn.rows import Chunks, ScratchInputs, opened
from skscn.rows.files import ScratchArray

N = 3000
X = np.random.default_rng(5).normal(size=(N, 4))
Y = X[:, 0] - X[:, 1]
# Below this nothing stays in memory, above that everything does.
LITTLE, MUCH = 20_000, 10**9
READ = Counter()


def counted():
    """Three chunks, each counted as it is read."""
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        READ[number] += 1
        yield X[rows], Y[rows]


@pytest.fixture(autouse=True)
def nothing_read():
    READ.clear()


@pytest.mark.parametrize("limit", [LITTLE, MUCH])
def test_each_chunk_is_read_once(limit):
    model = SCNRegressor(max_nodes=3, random_state=0).fit(Chunks(counted, memory_limit=limit))
    assert READ == {0: 1, 1: 1, 2: 1}
    same = SCNRegressor(max_nodes=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.network_.output_weights, same.network_.output_weights)


@pytest.mark.parametrize(("kind", "ending"), [(TextFile, ".csv"), (ParquetFile, ".parquet")])
@pytest.mark.parametrize("limit", [LITTLE, MUCH])
def test_each_file_is_read_once(kind, ending, limit, monkeypatch, tmp_path):
    table, rows = pa.table({**{f"x{i}": X[:, i] for i in range(4)}, "y": Y}), Counter()
    for part in range(2):
        write = pa.csv.write_csv if kind is TextFile else pa.parquet.write_table
        write(table[part * 1500 : (part + 1) * 1500], tmp_path / f"{part}{ending}")
    read = kind.batches

    def counting(file, *arguments):
        for batch in read(file, *arguments):
            rows[file.path.stem] += len(batch)
            yield batch

    monkeypatch.setattr(kind, "batches", counting)
    SCNRegressor(max_nodes=3, random_state=0).fit(Chunks(tmp_path, "y", memory_limit=limit))
    assert rows == {"0": 1500, "1": 1500}


def test_the_bytes_of_a_large_text_file_are_read_once(monkeypatch, tmp_path):
    path, read, count = tmp_path / "rows.csv", [], _QuoteCounter.read
    path.write_text('x,y\n"1",2\n' + "1.25,2\n" * 900_000, encoding="ascii")
    monkeypatch.setattr(_QuoteCounter, "read", lambda file, size: read.append(count(file, size)) or read[-1])
    chunks = Chunks(path, "y")
    # The first rows, from which the columns are known: a block and the next one.
    assert sum(map(len, read)) == 2 * 2**21 < path.stat().st_size
    read.clear()
    assert sum(len(block.X) for block in chunks.blocks(50_000)) == 900_001
    assert sum(map(len, read)) == path.stat().st_size


@pytest.mark.parametrize("limit", [LITTLE, MUCH])
@pytest.mark.parametrize("types", [(np.float32, np.float64), (np.float64, np.float32), (np.float32, np.float32)])
def test_single_precision_gives_way_to_double_precision(types, limit):
    parts = [(X[:2000].astype(types[0]), Y[:2000]), (X[2000:].astype(types[1]), Y[2000:])]
    expected = np.concatenate([part for part, _ in parts])
    with opened(Chunks(parts, memory_limit=limit), lambda n_rows: 10) as rows:
        assert isinstance(rows.X, ScratchInputs) == (limit == LITTLE)
        assert rows.X.dtype == expected.dtype
        np.testing.assert_array_equal(rows.X[0:N], expected)
        np.testing.assert_array_equal(rows.y, Y)


@pytest.mark.parametrize("limit", [LITTLE, MUCH])
def test_a_source_may_use_one_array_for_all_chunks(limit):
    buffer, targets = np.empty((500, 4)), np.empty(500)

    def chunks():
        for start in range(0, N, 500):
            buffer[:], targets[:] = X[start : start + 500], Y[start : start + 500]
            yield buffer, targets

    with opened(Chunks(chunks, memory_limit=limit), lambda n_rows: 10) as rows:
        np.testing.assert_array_equal(rows.X[0:N], X)
        np.testing.assert_array_equal(rows.y, Y)


def test_the_last_chunk_may_be_the_one_that_does_not_fit():
    # (4 inputs + 10 columns) * 8 bytes a row.
    for limit, in_files in ((N * 14 * 8, False), (N * 14 * 8 - 1, True)):
        with opened(Chunks(counted, memory_limit=limit), lambda n_rows: 10) as rows:
            assert isinstance(rows.X, ScratchInputs) == in_files
            np.testing.assert_array_equal(rows.X[0:N], X)


@pytest.mark.parametrize(("limit", "most"), [(MUCH, 1.3), (LITTLE, 0.3)])
def test_rows_are_in_memory_once_or_not_at_all(limit, most):
    rows, width = 1000, 20
    chunk = np.ones((rows, width)), np.ones(rows)
    chunks = Chunks(lambda: (chunk for _ in range(60)), memory_limit=limit)
    tracemalloc.start()
    with opened(chunks, lambda n_rows: 10) as read:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert read.X.shape == (60 * rows, width)
    assert peak < most * 60 * rows * width * 8


def test_chunks_that_were_begun_can_be_pickled_and_read_again():
    chunks = pickle.loads(pickle.dumps(Chunks([(X, Y)])))
    assert next(chunks.blocks(10)).X.shape == (10, 4)
    assert sum(len(block.X) for block in chunks.blocks(10)) == N
    chunks = Chunks(counted)
    next(chunks.blocks(10))
    assert sum(len(block.X) for block in chunks.blocks(10)) == N
    assert READ == {0: 2, 1: 1, 2: 1}


def test_the_space_that_is_needed_is_checked_while_rows_come(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked = []
    monkeypatch.setattr("skscn.rows.reading.check_space", lambda folder, needed: asked.append(needed))
    with opened(Chunks(counted, memory_limit=LITTLE), lambda n_rows: 10) as rows:
        assert rows.X.shape == (N, 4)
    # 4 inputs, 10 columns, the residual and something to spare, less than what has been written.
    assert asked[-1] <= N * 16 * 8
    assert asked == sorted(asked)
    assert not list(tmp_path.iterdir())


def test_arrays_in_files_grow(tmp_path):
    with ScratchArray(tmp_path / "rows", 0, 4) as array:
        for start in range(0, N, 700):
            array.append(X[start : start + 700])
        assert array.shape == (N, 4)
        np.testing.assert_array_equal(array[600:2900], X[600:2900])
        array.remove()
    assert not list(tmp_path.iterdir())
