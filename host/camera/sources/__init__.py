"""Sources of frames: cameras, videos, pictures, network streams, generated patterns."""
