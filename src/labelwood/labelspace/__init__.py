"""Numbers about labels that come from the training data: frequencies, co-occurrence, label vectors."""
