"""Running models and single operators in LiteRT."""
