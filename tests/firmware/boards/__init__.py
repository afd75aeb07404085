"""Tests of start-up, ports, health and the second core."""
