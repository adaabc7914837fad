"""The paper: its numbers, its experiments, and their results next to its own; only the program imports this package."""

from skscn.paper.trials import estimator_for, split

__all__ = ["estimator_for", "split"]
