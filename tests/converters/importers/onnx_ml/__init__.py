"""Tests of the import of classical models."""
