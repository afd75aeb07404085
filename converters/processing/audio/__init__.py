"""Convert sound to tensors: plans, tables and the NumPy reference."""
