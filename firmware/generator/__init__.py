"""Generate C sources and a project from a planned model."""
