"""Many benches from one file: models, boards and options combined."""
