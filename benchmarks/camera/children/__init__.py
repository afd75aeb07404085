"""Programs that a camera benchmark starts as processes of their own."""
