"""Tests of the table of figures."""
