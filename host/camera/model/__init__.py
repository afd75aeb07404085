"""Open models for the camera loop: read headers and metadata, and take recorded steps or guess them."""
