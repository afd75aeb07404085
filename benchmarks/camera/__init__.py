"""The cost of a frame: the camera loop, a loop as users write it, and MediaPipe, on the same frames."""
