"""The C sources of the anomaly head, for host and device."""
