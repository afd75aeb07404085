"""A small emulated PC with Debian's kernel and its virtual camera: the V4L2 code against the real kernel interface.

``python -m tests.vm`` boots it, runs ``tests/vm/guest_checks.py`` there with this computer's own Python (its root is
mounted read-only) and prints the results as JSON; ``make test-vm`` does the same through pytest.
"""
