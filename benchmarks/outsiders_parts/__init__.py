"""What others need to measure scikit-scn in benchmarks of their own."""
