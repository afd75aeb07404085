"""Measure or estimate the energy of boards and of this computer: drivers of meters, sensors, and estimates."""
