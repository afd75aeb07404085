"""Contains programs that the camera benchmark starts as separate processes."""
