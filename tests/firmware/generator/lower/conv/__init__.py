"""Tests of the layouts in which the weights of convolutions are stored."""
