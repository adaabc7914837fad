"""Error messages about inputs that are not numeric, with advice on how to encode them."""

from collections.abc import Iterator
from contextlib import contextmanager

# Parts of scikit-learn's messages about missing values and about text.
_MISSING = "contains NaN"
_NOT_NUMBERS = ("could not convert string", "dtype='numeric' is not compatible with arrays of bytes/strings")
_ADVICE = (
    "Put skscn.tables.TableEncoder before the estimator, for example with make_pipeline(TableEncoder(), estimator); it "
)


@contextmanager
def naming_encoder() -> Iterator[None]:
    """Within this context, scikit-learn's errors about missing values and text mention TableEncoder."""
    try:
        yield
    except ValueError as error:
        sentence = str(error).partition("\n")[0].rstrip(".")
        if _MISSING in sentence and "Input X" in sentence:
            raise ValueError(f"{sentence}. {_ADVICE}fills in missing values.") from None
        if any(part in sentence for part in _NOT_NUMBERS):
            raise ValueError(f"{sentence}. {_ADVICE}encodes text, dates and categories as numbers.") from None
        raise
