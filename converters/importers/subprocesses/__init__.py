"""Programs that run in the environments of frameworks, where Arenite is not installed."""
