"""Tests of the documentation: its site, links, commands and paths, and the schemas of the JSON output."""
