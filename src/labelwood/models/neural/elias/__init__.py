"""ELIAS: a label index learned end to end, with a sparse ranker and calibrated scores (ELIAS++)."""
