"""The paper: its numbers, its experiments, and their results next to its own; only the program imports this package."""
