"""Files of any known format -> `Dataset`: one file a format, one table of formats."""
