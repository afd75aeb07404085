"""Builds generated projects and writes them to boards."""
