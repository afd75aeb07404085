"""The four scenarios of MLPerf Inference: sending queries, and the rules for a valid measurement."""
