"""Named arrays and a manifest <-> a folder: memory-mapped, checked, no pickle. Knows nothing of models."""
