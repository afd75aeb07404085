"""Simulate a fleet: devices that run the real agent, with a real broker and server."""
