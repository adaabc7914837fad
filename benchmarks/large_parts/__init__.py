"""What the benchmark of large tables consists of, one module each."""
