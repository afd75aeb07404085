"""Sources of frames: cameras, videos, pictures, network streams and generated pictures."""
