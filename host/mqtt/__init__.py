"""Addresses of MQTT brokers, and clients with TLS for them."""
