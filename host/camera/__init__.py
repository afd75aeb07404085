"""The camera loop: frames from a source through a model to answers, measured and kept within a budget."""
