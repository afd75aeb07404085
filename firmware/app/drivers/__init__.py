"""The drivers of sensors on real boards."""
