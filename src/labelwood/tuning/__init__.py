"""Settings chosen on held-out rows within a given time: trials on parts of the rows, a journal, an honest account."""
