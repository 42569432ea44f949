"""Several models asked together: candidates from every side and one learned ranker, or a weighted mean of scores."""
