"""Files with which ESP-IDF builds a project."""
