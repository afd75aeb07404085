"""What a frame costs: the camera loop against what a user writes, and against MediaPipe, on the same frames."""
