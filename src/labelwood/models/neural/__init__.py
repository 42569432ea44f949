"""Neural models and what they share. Only training imports torch: a trained model answers without it."""
