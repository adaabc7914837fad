"""Parts of benchmarks/stream.py."""
