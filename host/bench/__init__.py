"""Measures a model on a board: its outputs, which are compared with LiteRT's, times, sizes and memory."""
