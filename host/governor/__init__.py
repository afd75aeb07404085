"""The governor: keeps power, temperature and latency within limits by moving levers."""
