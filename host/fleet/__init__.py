"""A fleet of devices: messages, the agent on a device, the registry, and rollouts in waves (docs/fleet.md)."""
