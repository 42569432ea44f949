"""Texts in, label names out: features, model and names in one saved folder."""
