"""Matrix products against LiteRT, bit for bit."""
