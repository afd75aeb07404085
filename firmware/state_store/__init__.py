"""C sources that keep one record in flash through power cuts, and the drivers of flash memories."""
