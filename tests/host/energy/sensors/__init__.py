"""Tests of host/energy/sensors."""
