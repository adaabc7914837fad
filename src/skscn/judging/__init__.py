"""Judging models: tests on rows that were held out, scores, baselines, drift, faults, and cautions as values."""

from skscn.judging.assessment import Assessment, assess
from skscn.judging.cautions import Caution
from skscn.judging.held_out import HeldOutTests

__all__ = ["Assessment", "Caution", "HeldOutTests", "assess"]
