"""Tests of projects for ESP-IDF."""
