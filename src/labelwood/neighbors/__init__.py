"""Vectors -> the nearest vectors: exact search, and faiss where exact search is too slow."""
