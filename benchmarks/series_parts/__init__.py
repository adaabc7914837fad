"""Parts of ./run bench series."""
