"""Requantization: integer arithmetic that provably gives LiteRT's outputs."""
