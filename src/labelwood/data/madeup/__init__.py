"""Data that nobody measured: a fictional shop, and generated sets whose right answers are known."""
