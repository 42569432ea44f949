"""Measured series and the figures drawn from them."""
