"""Models as source code of other languages: one C file that predicts without any library."""

from skscn.export._file import to_c

__all__ = ["to_c"]
