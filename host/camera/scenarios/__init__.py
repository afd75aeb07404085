"""The four scenarios of MLPerf Inference: how queries are sent, and what makes a measurement valid."""
