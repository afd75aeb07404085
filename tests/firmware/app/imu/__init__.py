"""Tests of the drivers of motion sensors."""
