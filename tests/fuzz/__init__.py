"""Random models, compared with LiteRT bit for bit, and hostile model files."""
