"""The dashboard: an HTTP server with a web page, live data of the loop and metrics."""
