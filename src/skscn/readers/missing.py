"""The words that stand for a missing value, in files and in columns of text."""

MISSING = (
    *("", "?", "-", "--", ".", "NA", "N/A", "n/a", "na", "#N/A", "#NA", "<NA>", "<null>", "NULL", "Null", "null"),
    *("NaN", "nan", "-nan", "-NaN", "NaT", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
