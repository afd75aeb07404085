"""A small HTTP server for pages of this computer: connections, limits, tokens and TLS."""
