"""Work on the machines of a Ray cluster: training, comparisons, predictions."""
