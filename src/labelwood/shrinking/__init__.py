"""Smaller and faster variants of a trained tagger or model: made without training, measured, listed, chosen."""
