"""Tests of loading programs over the GDB remote protocol into emulators, and into a simulated server with faults."""

from __future__ import annotations

import socket
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arenite.errors import DeviceError, UsageError
from arenite.host.emulator.machine import start_empty
from arenite.host.flash.build import direct_build
from arenite.host.flash.elf_image import Program, Segment, read_program
from arenite.host.flash.flash import flash
from arenite.host.flash.gdb_remote import GdbRemote, _expand_runs, crc32, escaped, unescaped
from arenite.host.flash.upload import Upload
from arenite.host.flash.uploaders.gdb import flashed_emulator, load
from arenite.host.link.client import DeviceClient
from arenite.profiles.boards import all_boards, load_board
from tests import toy_model
from tests.host.flash.projects import built, project

EMULATED = [board.name for board in all_boards() if board.emulated and board.rtl is None]


@pytest.mark.qemu
@pytest.mark.parametrize("name", EMULATED)
@pytest.mark.slow
def test_an_empty_board_is_loaded_over_gdb_and_runs_the_model(tmp_path: Path, name: str) -> None:
    board = load_board(name)
    directory = project(tmp_path / "p", name)
    upload = Upload(directory, board, direct_build(directory))
    with flashed_emulator(upload) as machine:
        assert "-kernel" not in machine.process.args  # type: ignore[operator]
        client = DeviceClient(machine.transport)
        assert client.hello().board == name
        data = bytes(range(8))
        client.write_input(0, data)
        client.infer()
        assert client.read_output(0, 8) == toy_model.expected([data])[0]


@pytest.mark.qemu
def test_loaded_bytes_are_in_memory(tmp_path: Path) -> None:
    """All byte values are loaded unchanged, at the start of flash and in the middle."""
    data = bytes(range(256)) * 40
    with start_empty(load_board("qemu_netduinoplus2"), str(tmp_path / "gdb")):
        remote = GdbRemote(str(tmp_path / "gdb"))
        program = Program((Segment(0x08000000, data), Segment(0x08040001, data[:1001])), 0)
        load(remote, program)
        for segment in program.segments:
            assert remote.read(segment.address, len(segment.data)) == segment.data
        remote.close()


@pytest.mark.qemu
def test_missing_memory_raises_an_error(tmp_path: Path) -> None:
    with start_empty(load_board("qemu_mps2_an386"), str(tmp_path / "gdb")):
        remote = GdbRemote(str(tmp_path / "gdb"))
        with pytest.raises(DeviceError, match=r"0xf0000000|did not store"):
            load(remote, Program((Segment(0xF0000000, b"abc"),), 0))
        remote.close()


@pytest.mark.qemu
def test_a_program_is_loaded_over_tcp(tmp_path: Path) -> None:
    """``--port HOST:PORT`` connects to a GDB server, such as that of a debug probe. The test starts an emulator with
    such a server."""
    board = load_board("qemu_riscv32")
    directory = project(tmp_path / "p", "qemu_riscv32")
    direct_build(directory)
    with start_empty(board, str(tmp_path / "gdb")) as machine:
        address = _relay(str(tmp_path / "gdb"))
        result = flash(directory, board, address, tool="gdb")
        assert result.nbytes == read_program(directory / ".pio/build/direct/firmware.elf").nbytes
        assert DeviceClient(machine.transport).hello().board == "qemu_riscv32"


def _relay(unix: str) -> str:
    """Forward one connection to the Unix socket, in both directions. Return the address, HOST:PORT, for the
    connection."""
    listener = socket.create_server(("localhost", 0))

    def copy(source: socket.socket, target: socket.socket) -> None:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        client_socket, _ = listener.accept()
        target_socket = socket.socket(socket.AF_UNIX)
        while target_socket.connect_ex(unix):  # QEMU listens as soon as its machine exists
            time.sleep(0.01)
        with client_socket, target_socket, listener:
            return_thread = threading.Thread(target=copy, args=(target_socket, client_socket), daemon=True)
            return_thread.start()
            copy(client_socket, target_socket)
            return_thread.join()

    threading.Thread(target=serve, daemon=True).start()
    return f"localhost:{listener.getsockname()[1]}"


class Server:
    """A simulated GDB server of a target with 64 KB of memory at address 0.

    ``binary`` and ``crc`` say whether the server supports the packets X and qCRC. ``small`` is its PacketSize in bytes;
    0: it states none. ``commands`` has the monitor commands that it received, ``erased`` the addresses of the blocks of
    flash that were erased, and ``done`` the number of vFlashDone packets.
    """

    def __init__(self, path: Path, *, binary: bool = True, crc: bool = True, small: int = 0) -> None:
        self.memory = bytearray(0x10000)
        self.binary, self.crc, self.small = binary, crc, small
        self.commands: list[str] = []
        self.stuck: int | None = None  # an address that cannot be written
        self.flash: tuple[int, int, int] | None = None  # start, size and block size of the flash
        self.erased: list[int] = []
        self.done = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        line, _ = self._listener.accept()
        pending = b""
        with line, self._listener:
            while data := line.recv(65536):
                pending += data
                while (start := pending.find(b"$")) >= 0 and len(pending) >= (
                    end := pending.find(b"#", start)
                ) + 3 > 3:
                    packet, pending = pending[start + 1 : end], pending[end + 3 :]
                    line.sendall(b"+" + self._packet(self.answer(packet)))

    @staticmethod
    def _packet(data: bytes) -> bytes:
        return b"$" + data + b"#%02x" % (sum(data) & 0xFF)

    def answer(self, packet: bytes) -> bytes:
        if packet.startswith(b"qSupported"):
            size = b"PacketSize=%x;" % self.small if self.small else b""
            return size + (b"qXfer:memory-map:read+" if self.flash else b"")
        if self.flash is not None and (reply := self._flash(packet)) is not None:
            return reply
        if packet.startswith(b"X") and self.binary:
            head, _, body = packet[1:].partition(b":")
            return self._store(head, unescaped(body))
        if packet.startswith(b"M"):
            head, _, body = packet[1:].partition(b":")
            return self._store(head, bytes.fromhex(body.decode()))
        if packet.startswith(b"m"):
            at, _, size = packet[1:].partition(b",")
            return self.memory[int(at, 16) :][: int(size, 16)].hex().encode()
        if packet.startswith(b"qCRC:") and self.crc:
            at, _, size = packet[5:].partition(b",")
            return b"C%x" % crc32(bytes(self.memory[int(at, 16) :][: int(size, 16)]))
        if packet.startswith(b"qRcmd,"):
            self.commands.append(bytes.fromhex(packet[6:].decode()).decode())
            return b"OK" if self.commands[-1] == "reset halt" else b""
        return {b"?": b"S05", b"D": b"OK"}.get(packet, b"")

    def _flash(self, packet: bytes) -> bytes | None:
        """Answer flash packets. Writing to flash only clears bits, and plain memory writes have no effect."""
        assert self.flash is not None
        start, size, block = self.flash
        if packet.startswith(b"qXfer:memory-map:read::"):
            ram = '<memory type="ram" start="0x8000" length="0x8000"/>'
            blocks = f'<property name="blocksize">{block:#x}</property>'
            flash = f'<memory type="flash" start="{start:#x}" length="{size:#x}">{blocks}</memory>'
            text = f"<memory-map>{ram}{flash}</memory-map>".encode()
            at, count = (int(word, 16) for word in packet.rpartition(b":")[2].split(b","))
            return (b"m" if at + count < len(text) else b"l") + text[at : at + count]
        if packet.startswith(b"vFlashErase:"):
            at, count = (int(word, 16) for word in packet.partition(b":")[2].split(b","))
            if (at - start) % block or count % block:
                return b"E02"
            self.erased += range(at, at + count, block)
            self.memory[at : at + count] = b"\xff" * count
            return b"OK"
        if packet.startswith(b"vFlashWrite:"):
            head, _, body = packet[12:].partition(b":")
            for k, byte in enumerate(unescaped(body)):
                self.memory[int(head, 16) + k] &= byte
            return b"OK"
        if packet == b"vFlashDone":
            self.done += 1
            return b"OK"
        if packet[:1] in (b"X", b"M") and start <= int(packet[1:].partition(b",")[0], 16) < start + size:
            return b"OK"
        return None

    def _store(self, head: bytes, data: bytes) -> bytes:
        at, _, size = head.partition(b",")
        first = int(at, 16)
        if first + len(data) > len(self.memory) or len(data) != int(size, 16):
            return b"E01"
        self.memory[first : first + len(data)] = data
        if self.stuck is not None and first <= self.stuck < first + len(data):
            self.memory[self.stuck] = 0xFF
        return b"OK"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "server"


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("small", [0, 120])
def test_a_program_is_loaded_into_servers_with_different_capabilities(
    address: Path, binary: bool, crc: bool, small: int
) -> None:
    server = Server(address, binary=binary, crc=crc, small=small)
    remote = GdbRemote(str(address))
    data = bytes(range(256)) * 3 + b"$#}*" * 50
    load(remote, Program((Segment(0x123, data), Segment(0x9000, data[::-1])), 0))
    assert bytes(server.memory[0x123 : 0x123 + len(data)]) == data
    assert bytes(server.memory[0x9000 : 0x9000 + len(data)]) == data[::-1]
    remote.close()


@pytest.mark.parametrize("crc", [True, False])
def test_a_wrong_byte_raises_an_error_with_its_address(address: Path, crc: bool) -> None:
    server = Server(address, crc=crc)
    server.stuck = 0x205
    remote = GdbRemote(str(address))
    with pytest.raises(DeviceError, match="At 0x205 the target has 0xff, the program 0x05"):
        load(remote, Program((Segment(0x200, bytes(range(16))),), 0))
    remote.close()


@pytest.mark.parametrize("small", [0, 120])
def test_flash_is_erased_and_written(address: Path, small: int) -> None:
    """Each block of the program is erased once; RAM is written directly."""
    server = Server(address, small=small)
    server.flash = (0x1000, 0x4000, 0x400)
    server.memory[0x1000:0x5000] = b"\x55" * 0x4000
    remote = GdbRemote(str(address))
    data = bytes(range(256)) * 4
    segments = (
        Segment(0x1004, data),
        Segment(0x1500, b"$#}*" * 8),
        Segment(0x4FFF, b"z"),
        Segment(0x9000, data),
    )
    load(remote, Program(segments, 0))
    remote.close()
    for segment in segments:
        assert bytes(server.memory[segment.address : segment.end]) == segment.data
    assert server.erased == [0x1000, 0x1400, 0x4C00] and server.done == 1
    assert bytes(server.memory[0x1800:0x4C00]) == b"\x55" * 0x3400


def test_an_error_of_the_server_is_raised(address: Path) -> None:
    Server(address)
    remote = GdbRemote(str(address))
    with pytest.raises(DeviceError, match="refuses writing 3 bytes at 0xffff: E01"):
        remote.write(0xFFFF, b"abc")
    remote.close()


def test_the_server_of_a_probe_gets_reset_commands_until_it_knows_one(tmp_path: Path, address: Path) -> None:
    server = Server(address)
    board = replace(load_board("nucleo_l4r5zi"), upload_tools=("gdb",))
    directory = built(tmp_path / "p", "nucleo_l4r5zi", [(0x100, b"program!")])
    result = flash(directory, board, str(address), tool="gdb", check=False)
    assert (bytes(server.memory[0x100:0x108]), result.nbytes) == (b"program!", 8)
    assert server.commands == ["system_reset", "reset halt"]


def test_a_missing_server_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="No GDB server listens"):
        GdbRemote(str(tmp_path / "nobody"), timeout_s=0.1)


def test_a_closed_connection_raises_an_error(address: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(address))
    listener.listen(1)
    threading.Thread(target=lambda: listener.accept()[0].close(), daemon=True).start()
    with pytest.raises(DeviceError, match="broke"):
        GdbRemote(str(address))
    listener.close()


def test_a_real_board_needs_the_address_of_a_server(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", "nucleo_l4r5zi")
    with pytest.raises(UsageError, match="needs the server"):
        flash(directory, load_board("nucleo_l4r5zi"), tool="gdb")


@given(st.binary(max_size=300))
def test_the_checksum_agrees_with_zlib(data: bytes) -> None:
    """zlib uses the same polynomial with reflected bits and an inverted result."""
    bit_reversed = bytes(int(f"{byte:08b}"[::-1], 2) for byte in data)
    reflected = zlib.crc32(bit_reversed) ^ 0xFFFFFFFF
    assert crc32(data) == int(f"{reflected:032b}"[::-1], 2)


@given(st.binary(max_size=300), st.integers(2, 100))
def test_escaping_is_reversible_and_respects_the_size(data: bytes, max_size: int) -> None:
    escaped_count, body = escaped(data, max_size)
    assert len(body) <= max_size and (escaped_count or not data)
    assert unescaped(body) == data[:escaped_count]
    assert not set(body) & set(b"$#")


def test_run_lengths_are_expanded() -> None:
    assert _expand_runs(b"0* ") == b"0000"
    assert _expand_runs(b'a0*"b') == b"a" + b"0" * 6 + b"b"
