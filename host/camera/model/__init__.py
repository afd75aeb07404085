"""Open models for the camera loop: read header and metadata, and find or guess preprocessing and postprocessing."""
