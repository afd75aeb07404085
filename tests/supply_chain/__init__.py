"""Tests and tools of the supply chain: locked packages, and the bill of materials of a release."""
