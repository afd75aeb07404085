"""Tests of the fits that give the timing estimates their costs."""
