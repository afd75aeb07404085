"""Connections to devices: serial ports, the Arenite protocol, the MLPerf monitor, resets."""
