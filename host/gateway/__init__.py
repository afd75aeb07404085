"""Connects microcontrollers on serial ports to the broker of a fleet."""
