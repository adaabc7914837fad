"""Masked arrays: NumPy drops the mask wherever an array is made of one, and what was masked would count as data."""

import numpy as np


def refuse_masked(**arrays) -> None:
    """Raise ValueError for a masked array, named by its keyword, in which anything is masked."""
    for name, array in arrays.items():
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            raise ValueError(
                f"{name} is a masked array with {np.ma.count_masked(array)} masked values, which cannot be used as "
                "they are: leave out their rows, or put numbers in their place, for example with "
                f"sklearn.impute.SimpleImputer on {name}.filled(np.nan)."
            )
