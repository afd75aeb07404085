"""Coverage-guided fuzz targets of the C code and of the Python readers."""
