"""The limits of a server's connections: how many there may be, and which one must end when there are too many."""

from __future__ import annotations

import ipaddress
import socket

#: The maximum number of strangers (see ``ConnectionLimits``) from one address. A browser opens six connections.
MAX_STRANGERS_PER_ADDRESS = 8


class ConnectionLimits:
    """At most ``max_clients`` connections at a time, of them at most ``max_strangers`` strangers from one address.

    A connection is a stranger until its client has shown that it may use the server, and ``admit`` is called.
    Strangers cannot keep admitted clients out: if the server is full when a new connection arrives, or if one
    address has too many strangers, the oldest of these strangers must end.
    """

    def __init__(self, max_clients: int, max_strangers: int = MAX_STRANGERS_PER_ADDRESS) -> None:
        self._max_clients, self._max_strangers = max_clients, max_strangers
        self._admitted: set[socket.socket] = set()
        #: The strangers with their networks (see ``network_of``), the oldest first.
        self._strangers: dict[socket.socket, str] = {}

    def add(self, connection: socket.socket, network: str) -> tuple[bool, socket.socket | None]:
        """Count a new connection as a stranger. Return (whether there was room for it, the stranger that must be
        closed to make room, or None)."""
        evicted = self._stranger_to_evict(network)
        if evicted is not None:
            self.remove(evicted)
        has_room = len(self._admitted) + len(self._strangers) < self._max_clients
        if has_room:
            self._strangers[connection] = network
        return has_room, evicted

    def admit(self, connection: socket.socket) -> None:
        """Keep ``connection`` until it ends, because its client has shown that it may use the server."""
        if self._strangers.pop(connection, None) is not None:
            self._admitted.add(connection)

    def is_admitted(self, connection: socket.socket) -> bool:
        return connection in self._admitted

    def remove(self, connection: socket.socket) -> None:
        self._admitted.discard(connection)
        self._strangers.pop(connection, None)

    def _stranger_to_evict(self, network: str) -> socket.socket | None:
        same_network = [connection for connection, other in self._strangers.items() if other == network]
        if len(same_network) >= self._max_strangers:
            return same_network[0]
        if len(self._admitted) + len(self._strangers) >= self._max_clients:
            return next(iter(self._strangers), None)
        return None


def network_of(address: str) -> str:
    """Return ``address``, or for IPv6 its network with a 64-bit prefix, because one computer may have all addresses of
    such a network."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))
