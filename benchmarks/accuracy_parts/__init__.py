"""What the benchmark of accuracy consists of, one module each."""
