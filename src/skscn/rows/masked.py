"""Masked arrays: converting one to an array drops the mask, and masked values would be used as data."""

import numpy as np


def refuse_masked(**arrays: object) -> None:
    """Raise ValueError for a masked array, named by its keyword, if any of its values is masked."""
    for name, array in arrays.items():
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            # Inputs can be filled in, targets and weights cannot.
            fill = ", or put numbers in their place, for example with sklearn.impute.SimpleImputer on X.filled(np.nan)"
            raise ValueError(
                f"{name} is a masked array with {np.ma.getmaskarray(array).sum()} masked values, which cannot be "
                f"used as they are: drop their rows{fill if name == 'X' else ''}."
            )
