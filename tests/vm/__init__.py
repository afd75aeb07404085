"""Test the V4L2 and USB code against a real Linux kernel, in a small emulated PC with Debian's kernel.

``python -m tests.vm`` boots the PC, runs ``tests/vm/guest_checks.py`` in it with this computer's Python (this
computer's root is mounted read-only) and prints the results as JSON. ``make test-vm`` does the same through pytest.
"""
