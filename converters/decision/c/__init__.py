"""The C sources of decisions."""
