"""Programs that run in the environments of the frameworks, where Arenite is not installed."""
