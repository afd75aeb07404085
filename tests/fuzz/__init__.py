"""Random models, compared with LiteRT bit for bit, and corrupted model files."""
