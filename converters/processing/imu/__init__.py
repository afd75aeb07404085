"""Convert windows of a motion sensor to tensors: plan and the NumPy reference."""
