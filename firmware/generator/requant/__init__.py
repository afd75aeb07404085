"""Requantize with integer arithmetic that is proven to give LiteRT's outputs."""
