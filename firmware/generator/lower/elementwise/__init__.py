"""Lowerings of operators that compute each output element from the input elements at the same place."""
