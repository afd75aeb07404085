"""Tests of applications with updates."""
