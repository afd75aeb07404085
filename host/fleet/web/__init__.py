"""The web page of a fleet, and its metrics for Prometheus."""
