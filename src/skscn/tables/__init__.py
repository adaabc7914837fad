"""Tables with columns of all kinds: read from files, and encoded as numbers."""

from skscn.readers import TableFile, near_file, open_stream, open_table
from skscn.tables._encoder import TableEncoder
from skscn.tables._onnx import prepend_table
from skscn.tables._target import Target, learn_target
from skscn.tables.frames import as_table
from skscn.tables.outside import OutsideColumn, outside_sentences
from skscn.tables.row_encoder import RowEncoder

__all__ = [
    "OutsideColumn",
    "RowEncoder",
    "TableEncoder",
    "TableFile",
    "Target",
    "as_table",
    "learn_target",
    "near_file",
    "open_stream",
    "open_table",
    "outside_sentences",
    "prepend_table",
]
