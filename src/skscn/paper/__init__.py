"""The paper: its settings, its experiments, and our results next to its own; elsewhere only the program uses it."""

from skscn.paper.trials import estimator_for, split

__all__ = ["estimator_for", "split"]
