"""Parts of the benchmark of tables."""
