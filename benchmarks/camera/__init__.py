"""Compare the cost of a frame in the camera loop, in plain OpenCV code and in MediaPipe, on the same frames."""
