"""The governor keeps power, temperature and latency within limits by moving levers, such as frame rate and model
variant."""
