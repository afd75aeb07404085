"""Generate applications, and run them on emulated boards with a virtual sensor."""
