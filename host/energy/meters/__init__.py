"""Meters for a microcontroller: one driver per instrument, and the recording that all of them give."""
