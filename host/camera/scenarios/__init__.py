"""The four ways in which MLPerf Inference asks a system for answers, and what makes a measurement of them valid."""
