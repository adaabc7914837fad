"""A folder of files with the same columns is one table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skscn.readers.arrow import arrow
from skscn.readers.errors import DataFileError
from skscn.readers.table_file import TableFile
from skscn.words import listed

if TYPE_CHECKING:
    import pyarrow as pa


class Folder(TableFile):
    """Files with the same columns, in the order given.

    Parameters
    ----------
    path : Path
        Of the folder.
    files : list of TableFile
    """

    def __init__(self, path: Path, files: list[TableFile]):
        self._files, first = files, files[0]
        super().__init__(path, first.names, str(path))
        for file in files[1:]:
            if set(file.names) != set(first.names):
                raise DataFileError(
                    f"{file.label} has the columns {listed(file.names)} and {first.label} has "
                    f"{listed(first.names)}; give all files the same."
                )
        self.notes = first.notes

    @property
    def size(self) -> int:
        return sum(file.size for file in self._files)

    def schema(self) -> pa.Schema:
        pa = arrow()
        schemas = [file.schema().remove_metadata() for file in self._files]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as different:
            raise self._different(different) from None

    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()) -> pa.Table:
        pa = arrow()
        tables = [file.read(columns or self.names, exact).select(columns or self.names) for file in self._files]
        tables = _as_text_where_one_is(tables, exact)
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as different:
            raise self._different(different) from None

    def _different(self, types: Exception) -> DataFileError:
        return DataFileError(
            f"The files in {self.path} hold different types in one column ({types}); give all files the same."
        )

    def head(self, columns: list[str], exact: Sequence[str] = ()) -> pa.Table:
        return self._files[0].head(columns, exact)

    def batches(
        self, types: Mapping[str, pa.DataType | str | None], max_rows: int | None = None, missing: Collection[str] = ()
    ) -> Iterator[pa.Table]:
        for file in self._files:
            yield from file.batches(types, max_rows, missing)

    def verbatim(self, names: list[str]) -> Iterator[pa.Table]:
        for file in self._files:
            yield from file.verbatim(names)


def _as_text_where_one_is(tables: list[pa.Table], names: Sequence[str]) -> list[pa.Table]:
    """Whole numbers as text in those columns that are text in one of the tables."""
    pa = arrow()
    for name in names:
        types = [table.schema.field(name).type for table in tables]
        if pa.string() in types and all(pa.types.is_integer(type) or type == pa.string() for type in types):
            place = tables[0].column_names.index(name)
            tables = [table.set_column(place, name, table.column(name).cast(pa.string())) for table in tables]
    return tables
