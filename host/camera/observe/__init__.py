"""Observe the loop: statistics, metrics, history for charts, traces, and soak runs (long runs to a steady state)."""
