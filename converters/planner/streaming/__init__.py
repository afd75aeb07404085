"""Streaming: operators that run together row by row, so that a tensor between them is never held whole.

``plan_streaming`` makes a ``Plan`` with ``segments``; ``streaming_checker`` verifies any such plan and shares no code
with the planner. docs/streaming.md explains both.
"""
