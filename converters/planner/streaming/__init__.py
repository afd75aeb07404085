"""Streaming: operators that run together row by row, so that a tensor between them never stands whole.

``plan_streaming`` makes a ``Plan`` with ``segments``; ``find_violations`` verifies any such plan and shares no code
with what made it. docs/streaming.md explains both.
"""
