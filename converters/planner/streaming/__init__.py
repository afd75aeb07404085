"""Streaming: operators run together row by row, so that a tensor between them is never completely in memory.

``plan_streaming`` computes a ``Plan`` with ``segments``; ``streaming_checker`` verifies any such plan and shares no
code with the planner. docs/streaming.md explains both.
"""
