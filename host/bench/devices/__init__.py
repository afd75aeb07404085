"""Runs the samples on one or several devices, and stores their answers."""
