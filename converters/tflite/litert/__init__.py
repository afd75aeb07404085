"""Run models and single operators in LiteRT."""
