"""Files <-> Dataset: readers and writers of every format, splits, synthetic data, the catalogue of known sets."""
