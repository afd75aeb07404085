"""Samples from files and folders, and the interpretation of their numbers."""
