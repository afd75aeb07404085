"""Generate the files with which ESP-IDF builds a project."""
