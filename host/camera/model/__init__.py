"""Open models for the camera loop: headers, metadata, recorded and guessed steps."""
