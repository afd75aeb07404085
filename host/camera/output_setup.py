"""Open the outputs of a camera session: files, callbacks, MQTT, the timeline and the dashboard."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arenite.errors import UsageError
from arenite.host.camera.frames.served_frame import Sink
from arenite.host.camera.options import DESCRIBE_EVERY_S, OutputOptions
from arenite.host.camera.sources.base import Source
from arenite.host.camera.supervisor import StateListener

if TYPE_CHECKING:
    from arenite.host.camera.sinks.describe import DescribeSink


@dataclass
class SessionOutputs:
    """The open outputs. ``sinks`` receive every served frame, and ``listeners`` every state that the supervisor
    publishes. ``describer`` is the first sink if a language model describes the answers, else None."""

    sinks: list[Sink] = field(default_factory=list)
    listeners: list[StateListener] = field(default_factory=list)
    describer: DescribeSink | None = None


def open_outputs(
    options: OutputOptions, source: Source, model_name: str, stack: ExitStack, report: Callable[[str], None]
) -> SessionOutputs:
    """Open and return every output that ``options`` names; ``stack`` closes them.

    The titles of the dashboard and the timeline name the model and the source. A recording (a ``source`` that is not
    live) waits until every answer is written. ``report`` is called with lines of text for people. Raises
    ``AreniteError`` for an output that cannot be opened.
    """
    outputs = SessionOutputs()

    def add(sink: Sink) -> None:
        stack.callback(sink.close)
        outputs.sinks.append(sink)

    if options.describe is None:
        for name, value in (
            ("--describe-every", options.describe_every_s),
            ("--describe-instruction", options.describe_instruction),
        ):
            if value is not None:
                raise UsageError(f"{name} is an option of --describe.", "Give --describe as well.")
    else:
        from arenite.host.camera.sinks.chat_client import ChatClient
        from arenite.host.camera.sinks.describe import DescribeSink

        outputs.describer = DescribeSink(
            ChatClient(options.describe),
            every_s=DESCRIBE_EVERY_S if options.describe_every_s is None else options.describe_every_s,
            instruction=options.describe_instruction,
            report=report,
        )
        add(outputs.describer)
    if options.output is not None:
        from arenite.host.camera.sinks.jsonl import JsonLinesSink

        add(JsonLinesSink(options.output, lossless=not source.live, report=report))
    if options.callback is not None:
        from arenite.host.camera.sinks.callback import CallbackSink, load_callback

        add(CallbackSink(load_callback(options.callback), report=report))
    if options.mqtt is not None:
        from arenite.host.camera.sinks.mqtt import MqttSink

        add(MqttSink(options.mqtt, report=report))
    if options.timeline is not None:
        from arenite.host.camera.observe.timeline import Timeline

        timeline = Timeline(options.timeline, title=f"arenite camera, {model_name}", report=report)
        add(timeline)
        outputs.listeners.append(timeline)
    if options.dashboard is None and (options.tls_cert or options.tls_key) is not None:
        raise UsageError(
            "--tls-cert and --tls-key are options of the dashboard.", "Give --dashboard as well."
        )
    if options.dashboard is not None:
        from arenite.host.camera.dashboard.server import Dashboard
        from arenite.host.http_server.addresses import parse_address

        host, port = parse_address(options.dashboard)
        title = f"{model_name} on {source.name}"
        dashboard = Dashboard(
            host,
            port,
            options.token,
            title=title,
            tls_certificate=options.tls_cert,
            tls_key=options.tls_key,
            report=report,
        )
        add(dashboard)
        outputs.listeners.append(dashboard)
        address = dashboard.start()
        # The address contains the token. A token that the user chose is not shown, because messages may be logged.
        own_token = options.token is not None and options.token != "auto"
        report(f"Dashboard: {f'{dashboard.public_url}, with your token' if own_token else address}")
    return outputs
