"""Lowerings of AVERAGE_POOL_2D and MAX_POOL_2D."""
