"""Linear classifiers: one-vs-all, the label tree, and what both are made of."""
