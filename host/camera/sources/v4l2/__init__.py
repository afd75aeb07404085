"""Cameras of Linux (Video4Linux2)."""
