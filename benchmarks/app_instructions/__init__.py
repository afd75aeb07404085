"""Measure the instructions of layers and applications on emulated boards, and fit the costs of ``fit --app``."""
