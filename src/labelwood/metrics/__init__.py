"""TopK and true labels -> figures in per cent; every definition is in docs/reference/metrics.md."""
