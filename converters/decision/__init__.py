"""Decide when the scores of a model, hop after hop, are an event: smoothing, thresholds, gates and cascades."""
