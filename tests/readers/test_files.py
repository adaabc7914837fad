import datetime as dt
import gzip
import io
import os
import re
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from skscn.datasets import DataFileError
from skscn.tables import TableEncoder, open_stream, open_table

TEXT = "town,size,sold\nRome,1.5,2020-01-02\nSão Paulo,2.25,2020-01-03\n"
ROWS = {
    "town": ["Rome", "São Paulo"],
    "size": [1.5, 2.25],
    "sold": [dt.date(2020, 1, 2), dt.date(2020, 1, 3)],
}


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", TEXT),
        ("a.csv", b"\xef\xbb\xbf" + TEXT.encode()),
        ("a.csv", TEXT.replace("\n", "\r\n")),
        ("a.csv", TEXT.encode("utf-16")),
        ("a.csv", TEXT.encode("cp1252")),
        ("a.csv.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("a.tsv", TEXT.replace(",", "\t")),
        ("a.csv", TEXT.replace(",", "\t")),
        ("a.txt", TEXT.replace(",", "|")),
        ("a.csv", TEXT.replace(",", ";").replace(".", ",")),
        ("a.csv", "sep=;\n" + TEXT.replace(",", ";")),
        ("a.csv", "\n\n" + TEXT),
        ("a.CSV", TEXT.rstrip()),
        ("a.csv", TEXT.replace("town", '"town"').replace("Rome", '"Rome"')),
    ],
)
def test_a_text_file_is_read_however_it_is_written(tmp_path, name, content):
    file = open_table(write(tmp_path / name, content))
    assert file.names == list(ROWS)
    assert file.read().to_pydict() == ROWS


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrow"])
def test_files_that_say_what_they_hold(tmp_path, name):
    table, path = pa.table(ROWS), tmp_path / name
    if name == "a.parquet":
        parquet.write_table(table, path)
    elif name == "a.feather":
        feather.write_feather(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    file = open_table(path)
    assert file.names == list(ROWS)
    assert file.read().to_pydict() == file.head(list(ROWS)).to_pydict() == ROWS
    assert pa.concat_tables(file.batches({"size": None})).to_pydict() == {"size": ROWS["size"]}


def test_a_keel_file_with_categories(tmp_path):
    header = "@relation r\n@attribute a real[0,1]\n@attribute code {1, 2}\n@inputs a\n@outputs code\n"
    table = open_table(write(tmp_path / "r.dat", f"{header}@data\n0.5, 1\n<null>, 2\n")).read()
    assert table.column("a").to_pylist() == [0.5, None]
    assert pa.types.is_string(table.schema.field("code").type)


def test_missing_values_delimiters_in_quotes_and_lines_within_values(tmp_path):
    text = 'a,b,c\n?,"x, y",1\nNA,"two\nlines",\n3,-,2\n'
    table = open_table(write(tmp_path / "a.csv", text)).read()
    assert table.to_pydict() == {"a": [None, None, 3], "b": ["x, y", "two\nlines", None], "c": [1, None, 2]}


def test_batches_encode_to_what_the_whole_table_does(tmp_path):
    rng = np.random.default_rng(0)
    n_rows = 60_000
    table = pa.table(
        {
            "x": rng.normal(size=n_rows),
            "town": rng.choice(["Rome", "Oslo"], n_rows),
            "yes": rng.random(n_rows) < 0.5,
            "sold": pa.array(np.datetime64("2020-01-01T00:00", "s") + rng.integers(0, 10**8, n_rows)),
            "price": [f"{price:,}" for price in rng.integers(0, 10**6, n_rows)],
        }
    )
    pa.csv.write_csv(table, tmp_path / "a.csv")
    parquet.write_table(table, tmp_path / "a.parquet")
    encoder = TableEncoder().fit(table)
    expected = encoder.transform(table)
    for name in ("a.csv", "a.parquet"):
        batches = [encoder.transform(batch) for batch in open_table(tmp_path / name).batches(encoder.read_types)]
        assert len(batches) > 1
        np.testing.assert_array_equal(np.concatenate(batches), expected)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", " \n\n", "is empty"),
        ("a.csv", "a,b\n1,2\n1,2,3\n", "line 3 has 3 values, where there are 2 columns"),
        ("a.csv", "a,b,a\n1,2,3\n", "several columns 'a'; rename all but one"),
        ("a.xlsx", "PK", "save the table as CSV"),
        ("a.csv.gz", "a,b\n", "cannot be read: Not a gzipped file"),
        ("a.parquet", "a,b\n", "cannot be read"),
        ("a.arrow", "a,b\n", "cannot be read"),
        ("a.dat", "@attribute a date\n", "not a real, integer or nominal attribute"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, name, content, sentence):
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=sentence) as refusal:
        open_table(path).read()
    assert "\n" not in str(refusal.value)


def test_a_value_that_is_not_of_its_type_is_named_with_its_column(tmp_path):
    path = write(tmp_path / "a.csv", "a,b\n1,2\n3,four\n")
    with pytest.raises(DataFileError, match="column 'b', line 3: 'four' is not a number"):
        list(open_table(path).batches({"b": pa.float64()}))
    with pytest.raises(DataFileError, match="column 'b', line 2: '2' is not a date"):
        list(open_table(path).batches({"b": pa.timestamp("us")}))


def test_a_folder_is_the_table_of_its_files(tmp_path):
    write(tmp_path / "2.csv", "town,size\nOslo,2.5\n")
    write(tmp_path / "1.csv", "size,town\n1,Rome\n")
    write(tmp_path / "_done", "")
    folder = open_table(tmp_path)
    assert folder.read().to_pydict() == {"size": [1, 2.5], "town": ["Rome", "Oslo"]}
    assert [table["size"].to_pylist() for table in folder.batches({"size": pa.float64()})] == [[1], [2.5]]
    assert folder.head(["size"]).num_rows == 1
    write(tmp_path / "3.csv", "town,size\nOslo,large\n")
    with pytest.raises(DataFileError, match="different types in one column"):
        open_table(tmp_path).read()
    write(tmp_path / "3.csv", "town,sizes\nOslo,2\n")
    with pytest.raises(DataFileError, match="3.csv has the columns town, sizes"):
        open_table(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataFileError, match="contains no files; name one with .csv"):
        open_table(tmp_path / "empty")


def test_what_was_meant(tmp_path):
    write(tmp_path / "houses.csv", TEXT)
    with pytest.raises(DataFileError, match="did you mean .*houses.csv"):
        open_table(tmp_path / "house.csv")
    with pytest.raises(DataFileError, match="did you mean .*houses.csv"):
        open_table(tmp_path / "Houses")
    for name in ("new.csv", "h.csv", "houses.scn"):
        with pytest.raises(DataFileError, match=rf"There is no file .*{name}\.$"):
            open_table(tmp_path / name)
    with pytest.raises(ValueError, match="no column 'Twon'; did you mean 'town'"):
        open_table(tmp_path / "houses.csv").find("Twon")
    with pytest.raises(ValueError, match="seems to hold values; put a line of names above it"):
        open_table(write(tmp_path / "values.csv", "1,2.5\n3,4\n")).find("y")


def test_bytes_that_are_not_utf8_far_down(tmp_path):
    path = write(tmp_path / "a.csv", b"a,b\n" + b"1,x\n" * 100_000 + b"1,\xe9\n")
    with pytest.raises(DataFileError, match="not UTF-8 throughout"):
        open_table(path).read()


@pytest.mark.parametrize(("sign", "other"), [(",", "."), (".", ",")])
def test_fractions_below_many_whole_numbers_tell_the_decimal_sign(tmp_path, sign, other):
    text = "a;b\n" + "0;1\n" * 1000 + f"0{sign}5;1{other}5x\n"
    assert open_table(write(tmp_path / "a.csv", text)).read()["a"].to_pylist() == [0.0] * 1000 + [0.5]


def test_names_that_are_not_there_get_one(tmp_path):
    assert open_table(write(tmp_path / "a.csv", ",a\n0,1\n")).names == ["column 1", "a"]


# ---- what is above the rows


@pytest.mark.parametrize(
    ("above", "note"),
    [
        ("# from the historian\n#\ntown,size,sold\n", "begins with 2 lines of comments"),
        ("# town,size,sold\n", "has its names in a line with #"),
        ("#town,size,sold\n", "has its names in a line with #"),
        ("town,size,sold\n,m²,\n", r"has a row of units under its names \(m²\)"),
        ("# plant 7\n\ntown,size,sold\n-,[kg/h],-\n", r"units under its names \(\[kg/h\]\)"),
    ],
)
def test_comments_and_units_above_the_rows_are_recognised_and_said(tmp_path, above, note):
    path = write(tmp_path / "a.csv", TEXT.replace("town,size,sold\n", above))
    file = open_table(path)
    assert file.read().to_pydict() == ROWS
    assert pa.concat_tables(file.batches({"size": pa.float64()}))["size"].to_pylist() == ROWS["size"]
    assert any(re.search(note, said) for said in file.notes), file.notes


def test_a_first_row_of_words_is_no_row_of_units(tmp_path):
    file = open_table(write(tmp_path / "a.csv", "state,x\nopen,closed\nshut,1\nopen,2\n"))
    assert file.read().num_rows == 3
    assert not file.notes


def test_one_column_with_its_name_in_a_comment(tmp_path):
    assert open_table(write(tmp_path / "a.csv", "# x\n1\n2\n")).read().to_pydict() == {"x": [1, 2]}


# ---- files that are too much for some readers


def test_values_and_lines_of_any_length(tmp_path):
    names = [f"a rather long name {i}" for i in range(16_000)]
    wide = open_table(write(tmp_path / "wide.csv", ",".join(names) + "\n" + ",".join("1" * 16_000) + "\n"))
    assert wide.names == names
    assert wide.read(names[-1:]).to_pydict() == {names[-1]: [1]}
    long = 'a,b\n1,"' + "x" * 200_000 + '"\n' + "2,y\n" * 3 + "3," + "z" * 5_000_000 + "\n4,w\n"
    file = open_table(write(tmp_path / "long.csv", long))
    assert [len(text) for text in file.read()["b"].to_pylist()] == [200_000, 1, 1, 1, 5_000_000, 1]
    batches = pa.concat_tables(file.batches({"a": pa.float64(), "b": pa.string()}))
    assert batches["a"].to_pylist() == [1, 2, 2, 2, 3, 4]


@pytest.mark.parametrize("line", [1, 2, 20_000])
def test_a_quote_that_is_never_closed_is_named_with_its_line(tmp_path, line):
    lines = ["a,b", *["1,x"] * 60_000]
    lines[line - 1] = 'a,"b'
    path = write(tmp_path / "a.csv", "\n".join(lines))
    for read in (
        lambda file: file.read(),
        lambda file: list(file.batches({"a": pa.string()})),
        lambda file: file.schema(),
    ):
        with pytest.raises(DataFileError, match=f"a quote that is opened in line {line:,} is never closed"):
            read(open_table(path))


@pytest.mark.parametrize("more", ["", '102,"y\n103,"y103"\n'])
def test_a_quote_that_only_another_row_closes_is_an_error(tmp_path, more):
    path = write(tmp_path / "a.csv", f'a,b\n99,"x\ny"\n100,"x\n101,"x101"\n{more}')
    for read in (lambda file: file.read(), lambda file: list(file.batches({"a": pa.string()}))):
        with pytest.raises(DataFileError, match="a quote that is opened in line 4 is never closed"):
            read(open_table(path))


def test_values_of_several_lines_are_read(tmp_path):
    path = write(tmp_path / "a.csv", 'a,b\n1,"x\n""y"" z"\n2,"u"\n')
    assert open_table(path).read().column("b").to_pylist() == ['x\n"y" z', "u"]


@pytest.mark.parametrize("decimal", [".", ","])
def test_words_in_place_of_numbers_are_missing_values(tmp_path, decimal):
    delimiter = ";" if decimal == "," else ","
    values = ["1.5", "Bad Input", "no data", " I/O Timeout", "-inf", "kaputt", "", "2.5"]
    rows = [delimiter.join([value.replace(".", decimal), "Error"]) for value in values]
    path = write(tmp_path / "a.csv", "\n".join([f"a{delimiter}b", *rows]))
    types = {"a": pa.float64(), "b": pa.string()}
    (table,) = open_table(path).batches(types, missing=["kaputt"])
    assert table.column("a").to_pylist() == [1.5, None, None, None, None, None, None, 2.5]
    assert set(table.column("b").to_pylist()) == {"Error"}
    with pytest.raises(DataFileError, match="column 'a', line 7: 'kaputt' is not a number"):
        list(open_table(path).batches(types))


def test_columns_are_copied_as_they_are_written(tmp_path):
    values = ["01007", "21.50", " x", "NA", "", "1e3", "True"]
    path = write(tmp_path / "a.csv", "\n".join(["a,b", *(f"{value},1" for value in values)]))
    tables = list(open_table(path).verbatim(["a"]))
    assert [value for table in tables for value in table.column("a").to_pylist()] == values


LONG = f"1,{'x' * 18}\n"


def test_no_row_is_read_from_what_follows_an_open_quote(tmp_path):
    path = write(tmp_path / "a.csv", f'a,b\n{LONG * 120_000}1,"x\n{LONG * 1000}')
    values = []
    with pytest.raises(DataFileError, match="opened in line 120,002 is never closed"):
        values.extend(table["b"].unique().to_pylist() for table in open_table(path).batches({"b": pa.string()}))
    assert values == [["x" * 18]]


def test_a_value_of_several_lines_far_down(tmp_path):
    # Where a block ends within it, Arrow must know that lines may end in values.
    rows = ['1,"two\nlines"'] * 2
    text = "a,b\n" + "1,x\n" * 600_000 + "\n".join(rows) + "\n"
    file = open_table(write(tmp_path / "a.csv", text))
    assert sum(len(table) for table in file.batches({"b": pa.string()})) == 600_002
    assert file.read()["b"][-1].as_py() == "two\nlines"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_unicode_encodings_and_files_that_end_within_a_character(tmp_path, encoding):
    path = write(tmp_path / "a.csv", TEXT.encode(encoding))
    assert open_table(path).read().to_pydict() == ROWS
    write(path, TEXT.encode(encoding)[:-1])
    with pytest.raises(
        DataFileError, match=r"is not UTF-\d\d.* throughout, or ends within a character; save it as UTF-8"
    ):
        open_table(path).read()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n\n\n1,2,3\n", "line 5 has 3 values, where there are 2 columns"),
        ('a,b\n"1\n2",2\n1\n', "line 4 has 1 value, where there are 2 columns"),
        ("# c\na,b\n" + "1,2\n" * 70_000 + "1\n", "line 70,003 has 1 value,"),
    ],
)
def test_a_ragged_row_is_named_with_its_line(tmp_path, text, sentence):
    file = open_table(write(tmp_path / "a.csv", text))
    for read in (file.read, lambda: list(file.batches({"a": pa.string()}))):
        with pytest.raises(DataFileError, match=sentence):
            read()


def test_whole_numbers_that_floats_would_round_stay_text_where_asked(tmp_path):
    path = write(tmp_path / "a.csv", f"a,b\n{10**19 + 1},1\n{10**19 + 2},2\n")
    file = open_table(path)
    for table in (file.read(exact=["a", "b"]), file.head(["a", "b"], exact=["a", "b"])):
        assert table.to_pydict() == {"a": [str(10**19 + 1), str(10**19 + 2)], "b": [1, 2]}
    write(tmp_path / "b.csv", "a,b\n5,1\n")
    assert open_table(tmp_path).read(exact=["a"])["a"].to_pylist() == [str(10**19 + 1), str(10**19 + 2), "5"]


@pytest.mark.slow
@pytest.mark.parametrize("cell", [b"7" * 2**20, b"7" * 1023 + b"\n" * (2**20 - 1023)], ids=["one line", "many lines"])
def test_a_cell_that_is_no_cell(cell, tmp_path):
    """A row of 200 MB is refused, rather than read with as much memory as it takes."""
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b'a,b,y\n1,2,3\n4,"')
        for _ in range(200):
            file.write(cell)
        file.write(b'",5\n6,7,8\n')
    file = open_table(path)
    for read in (file.read, lambda: list(file.batches(dict.fromkeys(file.names, pa.string())))):
        too_long = (
            r"a row has more than 64 MB, which is too long for a table|a quote that is opened in line 3 is never closed"
        )
        with pytest.raises(DataFileError, match=too_long):
            read()


def test_long_names_are_shortened_in_messages(tmp_path):
    name = "x" * 5000
    file = open_table(write(tmp_path / "a.csv", f"{name},b\n1,2\n"))
    with pytest.raises(ValueError, match="no column 'y'; the columns are xxx") as refusal:
        file.find("y")
    assert len(str(refusal.value)) < 200
    with pytest.raises(DataFileError, match="is not a number") as refusal:
        list(open_table(write(tmp_path / "b.csv", f"a,{name}\n1,{'z' * 5000}\n")).batches({name: pa.float64()}))
    assert len(str(refusal.value)) < 400


# ---- streams


def test_a_stream_is_read_as_the_file_it_came_from(tmp_path):
    parquet.write_table(pa.table(ROWS), tmp_path / "a.parquet")
    contents = [TEXT.encode(), gzip.compress(TEXT.encode()), (tmp_path / "a.parquet").read_bytes()]
    for content in contents:
        file = open_stream(io.BytesIO(content), "standard input")
        assert file.read().to_pydict() == ROWS
        assert file.label == file.place == "standard input"
        copy = file.path
        assert copy.exists()
        del file
        assert not copy.parent.exists()
    with pytest.raises(DataFileError, match="^standard input is empty"):
        open_stream(io.BytesIO(b""), "standard input")


def test_a_file_without_an_ending_is_known_by_its_beginning(tmp_path):
    parquet.write_table(pa.table(ROWS), tmp_path / "b")
    for path in (write(tmp_path / "a", TEXT), tmp_path / "b"):
        assert open_table(path).read().to_pydict() == ROWS


if sys.platform != "win32":

    def test_a_pipe_is_read_once(tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=write, args=(pipe, TEXT))
        writer.start()
        file = open_table(pipe)
        writer.join()
        assert file.read().to_pydict() == ROWS
        assert [table.num_rows for table in file.batches({"size": pa.float64()})] == [2]


def test_a_file_that_columns_were_learnt_from_can_be_encoded_in_batches(tmp_path):
    path = write(tmp_path / "a.csv", 'when,x\n2024-01-02,1\n" \n ",2\n 2024-03-04 ,3\n2024-03-05,4\n')
    file = open_table(path)
    encoder = TableEncoder().fit(file.read())
    (batch,) = file.batches(encoder.read_types)
    np.testing.assert_array_equal(encoder.transform(batch), encoder.transform(file.read()))
