"""Scores of any model -> calibrated probabilities, and the thresholds that decide which labels a row is given."""
