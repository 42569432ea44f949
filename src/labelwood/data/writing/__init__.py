"""`Dataset` -> files, each replaced only when the new one is complete."""
