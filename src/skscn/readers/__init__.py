"""Files of tables, read the same way everywhere: one dialect for text files, one interface for all formats."""

from skscn.readers.frames import FrameTable, as_file
from skscn.readers.opening import existing_table, near_file, open_stream, open_table
from skscn.readers.table_file import TableFile

__all__ = ["FrameTable", "TableFile", "as_file", "existing_table", "near_file", "open_stream", "open_table"]
