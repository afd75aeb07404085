"""Builds of generated libraries with the frameworks themselves."""
