"""MLPerf Tiny: its accuracy, performance and energy modes."""
