"""Dataset, and everything between it and files: reading, writing, made-up data, splits, known sets."""
