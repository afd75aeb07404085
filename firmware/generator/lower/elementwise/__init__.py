"""Lowerings of operators that compute each output element by itself."""
