"""Check samples against scales: coverage, clipping, saturation, field data."""
