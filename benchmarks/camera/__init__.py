"""Benchmarks that compare the time per frame of the camera loop, of plain OpenCV code and of MediaPipe, on the same
frames."""
