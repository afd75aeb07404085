"""Runs MLPerf Tiny in its accuracy, performance and energy modes."""
