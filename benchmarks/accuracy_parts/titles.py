"""Titles of tables and pictures."""

from accuracy_parts.measuring import METRICS
from accuracy_parts.summary import Summary

TITLES = {
    "regression": "Regression",
    "classification": "Classification",
    "friedman": "Friedman's function",
    "smooth": "Smooth functions",
}


def title(summary: Summary) -> str:
    return f"{TITLES[summary.task]}: {METRICS[summary.task][summary.metric]}"
