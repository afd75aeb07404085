"""Serve a generated page to browsers of this computer and of phones."""
