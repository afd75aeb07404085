"""The camera loop: read frames from a source, run a model on each frame, and pass the answers on.

The loop measures time, power and temperature, and can keep them within a budget.
"""
