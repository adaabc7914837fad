"""What the benchmark of plants consists of, one module each."""
