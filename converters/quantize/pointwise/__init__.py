"""Functions of one variable that a float graph spells with several elementwise operators, such as softplus."""
