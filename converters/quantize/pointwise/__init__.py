"""Functions of one variable that a float graph computes with several elementwise operators, such as softplus."""
