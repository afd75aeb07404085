"""Rules per operator, rewrites of the float graph, and the type of each tensor."""
