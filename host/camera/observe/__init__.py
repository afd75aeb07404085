"""Observe the loop: statistics, metrics, history, traces and soak runs."""
