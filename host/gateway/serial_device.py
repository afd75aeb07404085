"""Serve one device: run its agent while it answers on its serial port, and wait for it while it does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import DeviceError, UsageError
from arenite.host.fleet.agent import Agent, AgentSettings, DeviceIdentity
from arenite.host.fleet.agent_connection import AgentConnection, Requests
from arenite.host.gateway.device_installer import DeviceInstaller
from arenite.host.gateway.device_observer import SILENCE_S, DeviceObserver, reset_cause
from arenite.host.gateway.smp_service import SmpService
from arenite.host.link.transport import PortGoneError, SerialTransport, Transport
from arenite.host.mqtt.broker_address import BrokerAddress
from arenite.host.update.device_agent import read_agent_state
from arenite.host.update.device_info import Device, read_device, read_slots
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.link import SilenceError
from arenite.host.update.push import QUIET_PHASES
from arenite.profiles.boards import load_board

#: The times between two looks at a device that answers, and between two tries to reach one that does not.
_POLL_S, _RETRY_S = 10.0, 2.0
_WISH_S = 0.2


@dataclass(frozen=True)
class GatewaySettings:
    broker: BrokerAddress
    fleet: str
    state: Path  # folder; each device has a folder of its own in it
    images: Path | None = None
    baud: int = 115_200
    heartbeat_s: int = 900
    takes_smp: bool = False  # whether operators may send requests to the devices through the broker


class _StoppedError(DeviceError):
    """The gateway ends."""


class SerialDevice:
    """A device with the name ``name`` on ``port``. ``report`` is called with a sentence for each change.

    ``find_path`` returns the path of ``port`` whenever the port is opened, because a USB device may return under
    another path. It raises ``DeviceError`` or ``UsageError`` while there is none."""

    def __init__(
        self,
        name: str,
        port: str,
        settings: GatewaySettings,
        report: Callable[[str], None],
        find_path: Callable[[str], str] = str,
    ) -> None:
        self._name, self._port, self._settings, self._find_path = name, port, settings, find_path
        self._report_to = report
        self._stop = threading.Event()
        self._is_installing = False
        self._problem = self._late_problem = ""  # that were reported last, since the device answered
        self._installer: DeviceInstaller | None = None
        self._smp = SmpService(settings.fleet, name, self._report)
        self._agent: Agent | None = None
        self._observer: DeviceObserver | None = None
        self._connection: AgentConnection | None = None
        self._connection_stop = threading.Event()
        self._connection_thread: threading.Thread | None = None

    def run(self, stop: threading.Event) -> None:
        """Serve the device until ``stop`` is set. Raises ``UsageError`` for a bad state folder or a missing package."""
        self._stop = stop
        try:
            while not stop.is_set():
                try:
                    self._serve()
                except _StoppedError:
                    return
                except DeviceError as error:  # there is no port, or another program uses it
                    self._note_absence(error)
                    stop.wait(_RETRY_S)
        finally:
            self._set_reachable(False)
            self._stop_agent()

    def _serve(self) -> None:
        """Serve the device while it answers. Keep its port locked while it does not, so that no other gateway takes
        it in between. Raises ``DeviceError`` if the port cannot be opened, is locked or has disappeared."""
        link = DeviceLink(self._open, None, self._settings.baud, wait=self._wait_for_port)
        try:
            self._talk(link)
        except (PortGoneError, _StoppedError):
            raise  # a USB device returns under its name only if nobody has its port open
        except SilenceError as error:
            self._note_absence(error)
            self._wait_for_late_answer(link)
        except DeviceError as error:
            self._note_absence(error)
            self._stop.wait(_RETRY_S)
        finally:
            link.close()

    def _note_absence(self, error: DeviceError) -> None:
        """Tell the operators, the fleet and the user that the device does not answer."""
        if error.problem != self._problem:
            self._report(error.problem)
        self._problem = error.problem
        self._smp.set_away(error.problem)
        self._set_reachable(False)

    def _wait_for_late_answer(self, link: DeviceLink) -> None:
        """Wait before the next try. If an answer arrives now, tell that the device is slow, and go on at once."""
        end = time.monotonic() + _RETRY_S
        while not self._stop.is_set() and (rest := end - time.monotonic()) > 0:
            if link.receive(min(rest, _WISH_S)) is not None:
                problem = (
                    f"The device on {self._port} answers, but too late: this computer, the device or the line is too"
                    " busy."
                )
                if problem != self._late_problem:
                    self._report(problem)
                self._late_problem = problem
                self._smp.set_away(problem)
                return

    def _talk(self, link: DeviceLink) -> None:
        """Serve the device until ``stop`` is set. Raises ``DeviceError`` if it does not answer."""
        device = read_device(link, SILENCE_S)
        if device.is_plain:
            raise DeviceError(
                f"The firmware of the device on {self._port} is not one of Arenite's updates.",
                "Stop the gateway, and update it with `arenite update push`. The gateway does not know its model.",
            )
        if self._installer is None:
            self._start_agent(link, device)
        assert self._installer is not None and self._observer is not None
        self._installer.count_answer()
        self._observer.ask_again()
        self._observer.poll(link)
        self._set_reachable(True)
        self._smp.set_here()
        self._problem = self._late_problem = ""
        self._report(f"the {device.board} on {self._port} answers.")
        looked = time.monotonic()
        poll_s = min(_POLL_S, self._settings.heartbeat_s)
        while not self._stop.wait(_WISH_S):
            if self._smp.has_session:
                self._smp.serve(link, self._stop, lambda: self._has_release)
            elif self._smp.has_written:
                self._look_at_images(link)
            elif self._installer.has_work:
                self._install(link)
            elif time.monotonic() - looked > poll_s:
                read_device(link, SILENCE_S)
                self._observer.poll(link)
                looked = time.monotonic()

    def _start_agent(self, link: DeviceLink, device: Device) -> None:
        folder = self._settings.state / self._name
        folder.mkdir(parents=True, exist_ok=True)
        cause = reset_cause(read_agent_state(link, SILENCE_S))
        self._installer = DeviceInstaller(
            folder / "gateway.json", self._settings.images, device, read_slots(link)
        )
        try:
            core = load_board(device.board).core
        except UsageError:
            core = "unknown"  # a board of a newer or another Arenite
        identity = DeviceIdentity(self._settings.fleet, self._name, device.board, core)
        self._agent = Agent(
            identity,
            folder,
            self._installer,
            cause,
            is_device_start=False,
            settings=AgentSettings(self._settings.heartbeat_s),
        )
        receive = self._smp.receive if self._settings.takes_smp else None
        requests = Requests(self._smp.topic_filter, receive)
        self._connection = AgentConnection(self._agent, self._settings.broker, self._report, requests)
        self._smp.publish = self._connection.publish
        self._observer = DeviceObserver(folder / "observed.json", self._agent, self._connection.lock)
        self._connection_stop = threading.Event()
        self._connection_thread = threading.Thread(
            target=self._connection.run, args=(self._connection_stop,), daemon=True
        )
        self._connection_thread.start()

    def _stop_agent(self) -> None:
        self._connection_stop.set()
        if self._connection_thread is not None:
            self._connection_thread.join()
        if self._agent is not None:
            self._agent.close()

    @property
    def _has_release(self) -> bool:
        return self._installer is not None and self._installer.has_work

    def _look_at_images(self, link: DeviceLink) -> None:
        """After an operator's requests: if the device runs other images now, tell the fleet with a new agent."""
        assert self._installer is not None
        device = read_device(link, SILENCE_S)
        if device.phase not in QUIET_PHASES:
            self._stop.wait(_RETRY_S)
            return
        self._smp.has_written = False
        if not self._installer.runs(read_slots(link)):
            self._report("the device runs other images since the operator's requests.")
            self._stop_agent()
            self._start_agent(link, device)
        assert self._observer is not None
        self._observer.expect_update()

    def _install(self, link: DeviceLink) -> None:
        assert self._installer is not None and self._observer is not None
        if not self._smp.begin_own_use("The gateway installs a release on the device now."):
            return
        self._observer.poll(link)  # what the release that ends has counted
        self._observer.expect_update()
        self._is_installing = True
        try:
            self._installer.work(link, self._progress)
        finally:
            self._is_installing = False
            self._smp.end_own_use()
        result = self._installer.poll()
        if result is not None:
            self._report(f"the release {result.outcome.replace('_', ' ')}. {result.reason}".rstrip())

    def _progress(self, what: str, done: int, total: int) -> None:
        if self._stop.is_set():
            raise _StoppedError("The gateway ends.", "Start it again: the upload goes on where it stopped.")

    def _report(self, text: str) -> None:
        self._report_to(f"{self._name}: {text}")

    def _open(self) -> Transport:
        try:
            path = self._find_path(self._port)
        except UsageError as error:  # none or several for `auto` now
            raise DeviceError(error.problem, error.hint) from error
        return SerialTransport(path, self._settings.baud, is_exclusive=True)

    def _wait_for_port(self, seconds: float) -> None:
        """Wait before the next try to open a port that is gone, during an installation. At other times, raise
        ``PortGoneError``, so that the fleet learns of it at once."""
        if self._stop.is_set() or not self._is_installing:
            raise PortGoneError(f"The serial port {self._port} disappeared.", "Check the cable.")
        time.sleep(seconds)

    def _set_reachable(self, is_reachable: bool) -> None:
        if self._connection is not None:
            self._connection.set_reachable(is_reachable)
