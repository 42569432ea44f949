"""Baselines that the papers compare with: chance, nearest rows, low-rank regression, forests over rows."""
