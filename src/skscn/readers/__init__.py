"""Files of tables, read the same way everywhere: one dialect for text files, one interface for all formats."""

from skscn.readers.opening import near_file, open_stream, open_table
from skscn.readers.table_file import TableFile

__all__ = ["TableFile", "near_file", "open_stream", "open_table"]
