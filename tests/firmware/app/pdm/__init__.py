"""Tests of the filter for PDM microphones."""
