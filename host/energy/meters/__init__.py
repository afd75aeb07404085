"""Meters for a microcontroller: one driver per instrument, and the recording that every driver returns."""
