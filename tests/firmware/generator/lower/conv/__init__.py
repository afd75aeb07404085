"""Tests of the layouts of convolutions."""
