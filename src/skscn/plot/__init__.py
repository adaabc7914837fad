"""Pictures of networks, as scikit-learn's Displays; matplotlib is imported when one is drawn."""

from skscn.plot._fit import FitDisplay

__all__ = ["FitDisplay"]
