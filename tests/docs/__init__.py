"""The documentation: its site, its links, its commands and paths, and the schemas of what the commands print."""
