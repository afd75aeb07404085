"""The dashboard: an HTTP server with a page, live data and metrics."""
