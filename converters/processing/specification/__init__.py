"""Preprocessing as a user writes it down: sources and steps, their checks, and the map from pixels or features to the
values of the model's input."""
