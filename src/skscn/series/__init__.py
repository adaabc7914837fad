"""Series: earlier rows as inputs of models that see one row at a time."""

from skscn.series._lags import Lags

__all__ = ["Lags"]
