"""Lowerings of DEPTHWISE_CONV_2D."""
