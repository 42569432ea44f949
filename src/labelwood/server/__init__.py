"""Answers over HTTP: routes, batches, limits, corrections, several processes."""
