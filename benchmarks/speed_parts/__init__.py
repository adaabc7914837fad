"""The parts of the benchmark of speed, one module each, and what they share."""
