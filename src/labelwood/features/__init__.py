"""Texts -> sparse feature rows."""
