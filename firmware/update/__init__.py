"""C sources that check, install and receive update images."""
