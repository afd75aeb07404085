"""Sound to tensors: plans, tables and the NumPy reference."""
