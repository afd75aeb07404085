"""Tests of cameras of Linux (Video4Linux2)."""
