"""Limits of the sizes that a model states. Arenite and the frameworks' processes both use this module.

A file of a few kilobytes can state weights of terabytes, or expand to gigabytes, so sizes are compared with the size of
the file before anything is expanded.
"""

#: What to try if a model is beyond the limits.
HINT = "Give a smaller model. A file that states such sizes is damaged, or made to exhaust the memory."

#: The maximum number of bytes of a model's weights in memory. (The largest boards have 32 MB of memory.)
MAX_WEIGHT_BYTES = 1 << 30

#: Weights may take this many bytes, or this multiple of the size of their file if that is more. Files of pruned models
#: shrink most when they are compressed: by about 10.
FREE_BYTES = 64 << 20
MAX_EXPANSION = 16

#: The maximum number of values of a tensor that is not a weight: 1 GiB as float32.
MAX_VALUES = 1 << 28


def max_expanded_bytes(file_bytes: int, maximum: int = MAX_WEIGHT_BYTES) -> int:
    """Return the maximum number of bytes of the weights in a file of ``file_bytes``."""
    return min(maximum, max(FREE_BYTES, MAX_EXPANSION * file_bytes))
