"""Measures a model on a board: samples in, outputs, times, sizes and memory out, compared with LiteRT."""
