"""Read samples from files and folders, and interpret their numbers."""
