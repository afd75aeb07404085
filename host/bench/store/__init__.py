"""The database of bench results, and comparisons between its runs."""
