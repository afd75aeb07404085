"""The examples: the notebooks are executed."""
