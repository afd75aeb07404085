"""MLPerf Tiny: the accuracy, performance and energy modes."""
