"""Tests of predicted sizes against compiled firmware."""
