"""The tables and figures of the five papers as data, run by `labelwood reproduce` and shown beside what was printed."""
