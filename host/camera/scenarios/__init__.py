"""Measure the four scenarios of MLPerf Inference: send queries to a server, and check the rules for a valid result."""
