"""Measures a model on a board: inference times, sizes and memory. Its outputs are compared with LiteRT's."""
