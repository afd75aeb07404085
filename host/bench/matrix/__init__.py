"""Runs a bench for each combination of models, boards and options that a file ``bench.toml`` lists."""
