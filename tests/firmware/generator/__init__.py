"""Tests of the generator, which makes C projects from models."""
