"""What the benchmark of losses consists of, one module each."""
