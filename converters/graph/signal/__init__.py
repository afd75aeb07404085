"""TensorFlow Lite Micro's signal operators, which compute features of sound, and NumPy code that gives their results.

They are custom operators. LiteRT does not run them.
"""
