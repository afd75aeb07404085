"""Tests of the estimates' fits."""
