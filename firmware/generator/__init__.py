"""From a planned model to C sources and a project."""
