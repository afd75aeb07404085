"""Programs that a camera benchmark starts as separate processes."""
