import gzip
import pickle
import sys
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy import sparse

from skscn.readers import open_table
from skscn.rows import Chunks
from skscn.rows.reading import default_memory_limit

RNG = np.random.default_rng(0)
N = 50
X = np.column_stack([RNG.normal(size=N), RNG.integers(-5, 5, size=N), RNG.integers(0, 2, size=N)])
Y, P = RNG.normal(size=N), RNG.integers(1, 4, size=N).astype(float)
TABLE = pa.table({"a": X[:, 0], "b": X[:, 1].astype(np.int32), "c": X[:, 2].astype(bool), "y": Y, "p": P})
NAMES = ["a", "b", "c"]
FRAME = TABLE.select(NAMES).to_pandas()
CUTS = [0, 7, 7, 30, N]


def write(table, path):
    kind = path.suffix
    if kind == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=20)
    elif kind in (".csv", ".tsv"):
        pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t" if kind == ".tsv" else ","))
    else:
        pa.feather.write_feather(table, path, chunksize=20)
    return path


def write_folder(table, folder, kind):
    """Several files, in the order of their names but not of their making, and some to be ignored."""
    folder.mkdir()
    for number in reversed(range(4)):
        write(table[CUTS[number] : CUTS[number + 1]], folder / f"part-{number}{kind}")
    for ignored in ("_SUCCESS", ".hidden.csv"):
        (folder / ignored).write_text("")
    return folder


def chunks_of(X, y, *more):
    return [tuple(part[start:stop] for part in (X, y, *more)) for start, stop in pairwise(CUTS)]


def memmap(values, path):
    mapped = np.memmap(path, dtype=values.dtype, mode="w+", shape=values.shape)
    mapped[:] = values
    return mapped


def named(data, **settings):
    return Chunks(data, "y", sample_weight="p", **settings)


class Stored:
    """A sequence by len and getitem alone."""

    def __len__(self):
        return 4

    def __getitem__(self, place):
        return chunks_of(X, Y, P)[place]


KINDS = {
    **{
        f"file{kind}": lambda folder, kind=kind: named(write(TABLE, folder / f"rows{kind}"))
        for kind in (".parquet", ".csv", ".tsv", ".arrow", ".feather")
    },
    **{
        f"folder{kind}": lambda folder, kind=kind: named(str(write_folder(TABLE, folder / "rows", kind)))
        for kind in (".parquet", ".csv", ".tsv", ".arrow")
    },
    "dataset": lambda folder: named(pa.dataset.dataset(write(TABLE, folder / "rows.parquet"))),
    "table": lambda folder: named(TABLE),
    "array": lambda folder: Chunks(X, Y, sample_weight=P),
    "columns first": lambda folder: Chunks(np.asfortranarray(X), Y.tolist(), sample_weight=P.tolist()),
    "memmap": lambda folder: Chunks(memmap(X, folder / "X"), memmap(Y, folder / "y"), sample_weight=P),
    "sparse": lambda folder: Chunks(sparse.coo_array(X), Y, sample_weight=P),
    "pandas": lambda folder: Chunks(FRAME, pd.Series(Y, index=range(N, 0, -1)), sample_weight=pd.Series(P)),
    "polars": lambda folder: Chunks(pl.DataFrame(FRAME), pl.Series(Y), sample_weight=P),
    "list": lambda folder: Chunks(chunks_of(X, Y, P)),
    "list of lists": lambda folder: Chunks([(X.tolist(), Y.tolist(), P.tolist())]),
    "list of frames": lambda folder: Chunks(chunks_of(FRAME, Y, P)),
    "objects": lambda folder: Chunks(chunks_of(X.astype(object), Y, P)),
    "sequence": lambda folder: Chunks(Stored()),
    "function": lambda folder: Chunks(lambda: (chunk for chunk in chunks_of(X, Y, P))),
}
NAMED = {"pandas", "polars", "list of frames"}


@pytest.mark.parametrize("max_rows", [1, 8, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_give_the_same_rows_every_time(kind, max_rows, tmp_path):
    chunks = KINDS[kind](tmp_path)
    assert chunks.n_features == 3
    assert chunks.n_rows is None
    for _ in range(2):
        blocks = list(chunks.blocks(max_rows))
        for block in blocks:
            assert 0 < len(block.X) <= max_rows
            assert block.X.flags.c_contiguous
            assert type(block.X) is np.ndarray
            assert block.X.dtype == np.float64
        np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)
        np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), Y)
        np.testing.assert_array_equal(np.concatenate([block.sample_weight for block in blocks]), P)
    assert chunks.n_rows == N
    if kind.startswith(("file", "folder", "dataset", "table")):
        assert chunks.targets == ("y",)
        assert chunks.feature_names.tolist() == NAMES
    else:
        assert chunks.targets is None
        assert (None if chunks.feature_names is None else list(chunks.feature_names)) == (
            NAMES if kind in NAMED else None
        )


def test_weights_are_optional(tmp_path):
    for chunks in (Chunks(TABLE, "y"), Chunks(X, Y), Chunks([(X, Y)])):
        assert next(chunks.blocks(10)).sample_weight is None


@pytest.mark.parametrize(
    "make",
    [
        lambda X, y, folder: Chunks(X, y),
        lambda X, y, folder: Chunks([(X, y)]),
        lambda X, y, folder: Chunks([(pd.DataFrame(X), y)]),
        lambda X, y, folder: Chunks(pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}), "y"),
        lambda X, y, folder: Chunks(
            write(pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y}), folder / "rows.parquet"), "y"
        ),
    ],
)
def test_single_precision_stays(make, tmp_path):
    assert {block.X.dtype for block in make(X.astype(np.float32), Y, tmp_path).blocks(20)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("kind", [".parquet", ".csv", ".arrow"])
def test_targets_are_of_their_columns_type(kind, tmp_path):
    labels = [["red", "green"][i % 2] for i in range(N)]
    table = pa.table({"x": Y, "whole": np.arange(N), "flag": np.arange(N) % 2 == 0, "label": labels})
    if kind != ".csv":
        table = table.append_column("category", pa.array(labels).dictionary_encode())
    expected = {"whole": np.int64, "flag": bool, "label": object, "category": object}
    for name in table.column_names[1:]:
        chunks = Chunks(write(table.select(["x", name]), tmp_path / f"{name}{kind}"), name)
        y = np.concatenate([block.y for block in chunks.blocks(30)])
        assert y.dtype == expected[name]
        assert y.tolist() == table[name].to_pylist()


def test_several_targets_make_several_outputs():
    chunks = Chunks(TABLE, ["y", "p"])
    assert chunks.targets == ("y", "p")
    assert chunks.n_features == 3
    np.testing.assert_array_equal(next(chunks.blocks(N)).y, np.column_stack([Y, P]))
    assert next(Chunks(TABLE, ["y"]).blocks(N)).y.shape == (N, 1)


@pytest.mark.parametrize("kind", [".parquet", ".csv"])
def test_whole_numbers_in_one_file_and_fractions_in_another(kind, tmp_path):
    write(pa.table({"x": [1, 2], "y": [3, 4]}), tmp_path / f"a{kind}")
    write(pa.table({"y": [3.5, 4.5], "x": [1.5, 2.5]}), tmp_path / f"b{kind}")
    blocks = list(Chunks(tmp_path, "y").blocks(10))
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), [[1], [2], [1.5], [2.5]])
    assert np.concatenate([block.y for block in blocks]).tolist() == [3, 4, 3.5, 4.5]
    assert {block.y.dtype for block in blocks} == {np.dtype(float)}


def test_a_csv_column_may_begin_with_whole_numbers(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "1,1\n" * 400_000 + "1.5,1\n", encoding="ascii")
    assert [block.X[-1, 0] for block in Chunks(path, "y").blocks(500_000)][-1] == 1.5


def test_decimals_and_categories_of_numbers_are_numbers():
    decimals = pa.array([1, 2, 3]).cast(pa.decimal128(30, 2))
    table = pa.table({"d": decimals, "k": pa.array([5, 5, 6]).dictionary_encode(), "y": decimals})
    block = next(Chunks(table, "y").blocks(10))
    np.testing.assert_array_equal(block.X, [[1, 5], [2, 5], [3, 6]])
    assert block.y.tolist() == [1.0, 2.0, 3.0]


def test_row_labels_of_pandas_are_no_input(tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"x": Y, "y": Y}).query("x > 0").to_parquet(path)
    assert "__index_level_0__" in pa.parquet.read_schema(path).names
    assert Chunks(path, "y").feature_names.tolist() == ["x"]


def test_chunks_of_files_can_be_pickled(tmp_path):
    chunks = pickle.loads(pickle.dumps(named(write(TABLE, tmp_path / "rows.parquet"))))
    np.testing.assert_array_equal(next(chunks.blocks(N)).X, X)


@pytest.mark.parametrize("rows_in_group", [None, 5000])
def test_a_folder_of_parquet_takes_the_memory_of_a_few_blocks(rows_in_group, tmp_path):
    rows, columns = 40_000, 20
    for name in ("a", "b", "c"):
        table = pa.table({f"x{i}": np.random.default_rng(i).random(rows) for i in range(columns)})
        # Dictionaries would be as large as the columns: no value is there twice.
        pa.parquet.write_table(
            table,
            tmp_path / f"{name}.parquet",
            row_group_size=rows_in_group,
            use_dictionary=False,
            data_page_size=65536,
        )
    del table
    chunks = Chunks(tmp_path, "x0")
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    default = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        assert sum(len(block.X) for block in chunks.blocks(1000)) == 3 * rows
        peak = pool.max_memory() + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(default)
    assert pool.max_memory() > 0
    assert peak < rows * columns * 8


def test_default_memory_limit_is_a_quarter_of_the_memory_but_not_too_little():
    assert 256 * 2**20 <= Chunks(X, Y).memory_limit == default_memory_limit() < 2**50
    assert default_memory_limit(machine_memory=2**40) == 2**38
    assert default_memory_limit(machine_memory=2**20) == 256 * 2**20
    assert Chunks(X, Y, memory_limit=1000).memory_limit == 1000


def with_value(value, row=3, column=1):
    changed = X.copy()
    changed[row, column] = value
    return changed


def table_with(**columns):
    return pa.table({**{name: TABLE[name] for name in TABLE.column_names}, **columns})


SHARED = iter(chunks_of(X, Y))
WRONG = {
    "no such column": (lambda: Chunks(TABLE, "yy"), ValueError, r"no column 'yy'; did you mean 'y'\? .* a, b, c, y, p"),
    "no such weights": (
        lambda: Chunks(TABLE, "y", sample_weight="zzz"),
        ValueError,
        "no column 'zzz'; the columns are a",
    ),
    "no target named": (lambda: Chunks(TABLE), ValueError, "target must name the target's column, one of a, b"),
    "targets by array": (lambda: Chunks(TABLE, Y), TypeError, "must name columns"),
    "one column twice": (lambda: Chunks(TABLE, "y", sample_weight="y"), ValueError, "name each column once"),
    "no inputs": (lambda: Chunks(TABLE.select(["y"]), "y"), ValueError, "no columns besides the target"),
    "twins": (
        lambda: Chunks(pa.table([Y, Y, Y], names=["x", "x", "y"]), "y"),
        ValueError,
        "several columns 'x'; rename",
    ),
    "text": (
        lambda: Chunks(table_with(city=["Rome"] * N), "y"),
        ValueError,
        "column 'city' holds text; encode it with .*TableEncoder",
    ),
    "categories": (
        lambda: Chunks(table_with(city=pa.array(["Rome"] * N).dictionary_encode()), "y"),
        ValueError,
        "column 'city' holds text; encode it with .*TableEncoder, drop it, or use the program",
    ),
    "dates": (
        lambda: Chunks(table_with(day=pa.array([0] * N, pa.date32())), "y"),
        ValueError,
        "column 'day' holds dates or times; encode it with .*TableEncoder, drop it, or use the program",
    ),
    "nothing": (lambda: Chunks(table_with(void=pa.nulls(N)), "y"), ValueError, "column 'void' holds nothing"),
    "lists": (lambda: Chunks(table_with(l=[[1]] * N), "y"), ValueError, "column 'l' holds values of type list"),
    "weights of text": (
        lambda: Chunks(table_with(w=["1"] * N), "y", sample_weight="w"),
        ValueError,
        "column 'w' holds text",
    ),
    "empty table": (lambda: Chunks(TABLE[:0], "y"), ValueError, "no rows"),
    "null": (
        lambda: Chunks(table_with(a=[None] + [1.0] * (N - 1)), "y"),
        ValueError,
        "column 'a' holds missing values.*impute or drop",
    ),
    "NaN": (lambda: Chunks(table_with(a=[np.nan] * N), "y"), ValueError, "column 'a' holds NaN.*impute or drop"),
    "NaN target": (
        lambda: Chunks(table_with(y=[np.nan] * N), "y"),
        ValueError,
        "the target y holds NaN.*impute or drop",
    ),
    "null target": (
        lambda: Chunks(table_with(y=[None] + ["a"] * (N - 1)), "y"),
        ValueError,
        "'y' holds missing values",
    ),
    "NaN in array": (lambda: Chunks(with_value(np.nan), Y), ValueError, "column 1 holds NaN.*impute or drop"),
    "infinity": (lambda: Chunks(with_value(-np.inf), Y), ValueError, "column 1 holds infinity.*impute or drop"),
    "None": (lambda: Chunks([([[1.0, None]], [1])]), ValueError, "column 1 holds NaN"),
    "infinite target": (lambda: Chunks(X, Y + np.inf), ValueError, "the target holds NaN, infinity"),
    "target None": (lambda: Chunks([(X[:2], np.array(["a", None], object))]), ValueError, "the target holds NaN"),
    "negative weight": (lambda: Chunks(X, Y, sample_weight=-P), ValueError, "negative numbers; drop those rows"),
    "text in frame": (
        lambda: Chunks([(FRAME.assign(a="Rome"), Y)]),
        ValueError,
        "column 'a' holds text; encode it with .*TableEncoder",
    ),
    "text in Polars": (
        lambda: Chunks([(pl.DataFrame({"u": Y, "city": ["Rome"] * N}), Y)]),
        ValueError,
        "column 'city' holds text; encode it with .*TableEncoder, drop it, or use the program",
    ),
    "text in list": (lambda: Chunks([([["1", "2"]], [1])]), ValueError, "column 0 holds text"),
    "dates in frame": (
        lambda: Chunks([(FRAME.assign(a=pd.Timestamp("2020-01-01")), Y)]),
        ValueError,
        "column 'a' holds dates",
    ),
    "other objects": (
        lambda: Chunks([(np.array([[1, {}]], object), [1])]),
        ValueError,
        "column 1 holds more than numbers",
    ),
    "other columns": (
        lambda: Chunks([(X, Y), (X[:, :2], Y)]),
        ValueError,
        r"2 columns where .* 3; give .* \(chunk 1\)",
    ),
    "other names": (
        lambda: Chunks([(FRAME, Y), (FRAME[["b", "a", "c"]], Y)]),
        ValueError,
        r"columns are b, a, c where those of the first chunk are a, b, c.*\(chunk 1\)",
    ),
    "other outputs": (lambda: Chunks([(X, Y), (X, X)]), ValueError, r"y has a different shape .*\(chunk 1\)"),
    "some weights": (lambda: Chunks([(X, Y), (X, Y, P)]), ValueError, "give it with all chunks or with none"),
    "shorter y": (lambda: Chunks(X, Y[1:]), ValueError, "X has 50 rows and y has 49; give one target for each row"),
    "shorter y in chunk": (lambda: Chunks([(X, Y), (X, Y[1:])]), ValueError, r"y has 49.*\(chunk 1\)"),
    "shorter weights": (lambda: Chunks(X, Y, sample_weight=P[1:]), ValueError, "give one weight for each row"),
    "flat X": (lambda: Chunks(Y, Y), ValueError, "X must have 2 dimensions, rows by columns, not 1"),
    "deep y": (lambda: Chunks(X, np.ones((N, 1, 1))), ValueError, "y must have 1 or 2 dimensions, not 3"),
    "no chunks": (lambda: Chunks([]), ValueError, "no chunks"),
    "nothing from function": (lambda: Chunks(lambda: iter(())), ValueError, "no chunks"),
    "no rows": (lambda: Chunks([(X[:0], Y[:0])]), ValueError, "no rows"),
    "no tuple": (lambda: Chunks([X]), TypeError, r"tuple \(X, y\) .* chunk 0 is ndarray"),
    "generator": (
        lambda: Chunks(chunk for chunk in ()),
        TypeError,
        "only once; pass a function that returns a fresh one",
    ),
    "same iterator": (lambda: Chunks(lambda: SHARED), ValueError, "same iterator twice"),
    "array alone": (lambda: Chunks(X), TypeError, "target must be the array"),
    "names beside array": (lambda: Chunks(FRAME, "a"), TypeError, "target must be the array"),
    "weight's name beside array": (
        lambda: Chunks(X, Y, sample_weight="p"),
        TypeError,
        "sample_weight must be the array",
    ),
    "target beside chunks": (lambda: Chunks([(X, Y)], Y), TypeError, r"pass \(X, y\)"),
    "something else": (lambda: Chunks(3, "y"), TypeError, "data must be a path, .* not int"),
    "mapping": (lambda: Chunks({"a": 1}), TypeError, "not dict"),
    "no memory": (lambda: Chunks(X, Y, memory_limit=0), ValueError, "memory_limit must be a positive number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case):
    make, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        list(make().blocks(16))


def test_blocks_have_rows():
    with pytest.raises(ValueError, match="max_rows must be at least 1"):
        next(Chunks(X, Y).blocks(0))


def test_rows_must_stay_the_same():
    data = chunks_of(X, Y)
    chunks = Chunks(data)
    assert sum(1 for _ in chunks.blocks(N)) == 3
    data.pop()
    with pytest.raises(ValueError, match="50 rows before and 30 now; they must be the same every time"):
        list(chunks.blocks(N))


def test_wrong_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file or folder .*gone\.csv\. For remote files pass"):
        Chunks(tmp_path / "gone.csv", "y")
    with pytest.raises(ValueError, match="contains no files; name one with .csv, "):
        Chunks(tmp_path, "y")
    (tmp_path / "rows.xlsx").write_text("PK")
    for path in (tmp_path / "rows.xlsx", tmp_path):
        with pytest.raises(ValueError, match="rows.xlsx cannot be read; save the table as CSV, or as another of .csv"):
            Chunks(path, "y")
    write(TABLE, tmp_path / "rows.csv")
    with pytest.raises(FileNotFoundError, match=r"did you mean .*rows\.csv\?"):
        Chunks(tmp_path / "row.csv", "y")


def test_files_of_a_folder_must_be_alike(tmp_path):
    write(TABLE, tmp_path / "a.parquet")
    write(TABLE.drop_columns("a"), tmp_path / "b.parquet")
    with pytest.raises(
        ValueError,
        match="b.parquet has the columns b, c, y, p and a.parquet has a, b, c, y, p; give all files the same. "
        "All files in a folder are one table; to read one of them, name it.",
    ):
        Chunks(tmp_path, "y")
    write(table_with(a=["Rome"] * N), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="different types in one column .*; give all files the same"):
        Chunks(tmp_path, "y")


def test_text_further_down_a_csv_file_is_said_with_its_line(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "1.000000000000,1\n" * 150_000 + "Rome,1\n", encoding="ascii")
    with pytest.raises(ValueError, match="rows.csv cannot be read: column 'x', line 150,002: 'Rome' is not a number"):
        list(Chunks(path, "y").blocks(100_000))


NUMBERS = "# plant 7\nflow,heat,yield\n[m3/h],°C,%\n1.5,20,0.1\n2.25,21.5,-3e-2\n"
KEEL = "@attribute flow real\n@attribute heat real\n@attribute yield real\n@data\n1.5, 20, 0.1\n2.25, 21.5, -3e-2\n"
DIALECTS = {
    "commas": ("a.csv", NUMBERS),
    "decimal commas": ("a.csv", NUMBERS.replace(",", ";").replace(".", ",")),
    "tabs in .csv": ("a.csv", NUMBERS.replace(",", "\t")),
    "bars": ("a.txt", NUMBERS.replace(",", "|")),
    "sep=": ("a.csv", "sep=;\n" + NUMBERS.replace(",", ";")),
    "names in a comment": ("a.csv", "# flow,heat,yield\n1.5,20,0.1\n2.25,21.5,-3e-2\n"),
    "quotes": ("a.csv", NUMBERS.replace("2.25", '"2.25"').replace("flow", '"flow"')),
    "UTF-16": ("a.csv", NUMBERS.encode("utf-16")),
    "Windows-1252": ("a.csv", NUMBERS.encode("cp1252")),
    "compressed": ("a.csv.gz", gzip.compress(NUMBERS.encode())),
    "no ending": ("a", NUMBERS),
    "KEEL": (
        "a.dat",
        "@attribute flow real\n@attribute heat real\n@attribute yield real\n@data\n1.5, 20, 0.1\n2.25, 21.5, -3e-2\n",
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_file_is_read_as_the_program_reads_it(dialect, tmp_path):
    name, content = DIALECTS[dialect]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = open_table(path).read()
    chunks = Chunks(path, "yield")
    (block,) = chunks.blocks(10)
    assert [*chunks.feature_names, *chunks.targets] == table.column_names == ["flow", "heat", "yield"]
    np.testing.assert_array_equal(np.column_stack([block.X, block.y]), np.column_stack(table.columns))
    np.testing.assert_array_equal(block.X, [[1.5, 20], [2.25, 21.5]])


@pytest.mark.parametrize("word", ["?", "NA", "n/a", "-", "NaN", ""])
def test_words_for_missing_values_are_those_of_the_program(word, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(f"a,x,y\n1,1,1\n2,{word},2\n", encoding="ascii")
    assert open_table(path).read()["x"].to_pylist() == [1, None]
    with pytest.raises(ValueError, match="column 'x' holds missing values in some rows; impute or drop"):
        list(Chunks(path, "y").blocks(10))


def test_a_label_that_a_csv_file_leaves_out_is_missing(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n1,red\n2,\n", encoding="ascii")
    with pytest.raises(ValueError, match="column 'y' holds missing values in some rows; impute or drop"):
        list(Chunks(path, "y").blocks(10))


def test_missing_pyarrow_is_named(monkeypatch, tmp_path):
    path = write(TABLE, tmp_path / "rows.csv")
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'pip install "scikit-scn\[io\]"'):
        Chunks(path, "y")
    assert len(next(Chunks(X, Y).blocks(N)).X) == N
