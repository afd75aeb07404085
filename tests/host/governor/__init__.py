"""Tests of host/governor."""
