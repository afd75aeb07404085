"""Sensors of power and temperature that the operating system offers."""
