"""Serve the page of a package, with TLS and a token, and tell people how to open it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arenite.errors import UsageError
from arenite.host.http_server.access import is_loopback
from arenite.host.http_server.tls import server_context
from arenite.host.web.package import WebPackage
from arenite.host.web.serving.local_authority import AUTHORITY_PATH, local_authority
from arenite.host.web.serving.sample_collection import SampleCollection, SampleFormat
from arenite.host.web.serving.served_repository import served_repository

if TYPE_CHECKING:
    from arenite.host.web.serving.page_server import PageServer


@dataclass(frozen=True)
class ServingOptions:
    """Where and how to serve a page.

    ``host`` and ``port`` are the address to bind; with port 0, the system chooses a free port. ``collect`` is the
    folder for samples that users of the page save; None: the page sends none. ``certificate`` and ``key`` are PEM
    files; without them, an address that other computers reach gets a certificate of this computer's own authority.
    """

    host: str = "127.0.0.1"
    port: int = 0
    collect: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


def open_page(package: WebPackage, options: ServingOptions, report: Callable[[str], None]) -> PageServer:
    """Return a server of the package's page, which has begun to listen. ``report`` is called with lines of text for
    people. The token is that of the environment variable ARENITE_TOKEN; without it, a token is generated.

    Raises ``UsageError`` if the address, the certificate, the folder for samples or the repository beside the page
    cannot be used, or if a package of the extra ``web`` is missing.
    """
    try:
        from arenite.host.web.serving.page_server import PageServer
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        raise UsageError("Serving a page needs h11.", "Install it: pip install 'arenite[web]'.") from error
    tls, pem = None, ""
    if options.certificate is not None or options.key is not None:
        tls = server_context(options.certificate, options.key)
    elif not is_loopback(options.host):
        authority = local_authority()
        tls, pem = authority.context(options.host), authority.certificate_pem
    collection = None
    if options.collect is not None:
        assert package.page is not None
        collection = SampleCollection(options.collect, sample_format(package), package.page.classes)
    updates = None if package.page is None else package.page.updates
    repository = None
    if updates is not None and not updates.origin:
        repository = served_repository(package.directory, updates.repository)
    server = PageServer(
        package.directory,
        options.host,
        options.port,
        os.environ.get("ARENITE_TOKEN") or "auto",
        tls=tls,
        authority_pem=pem,
        collection=collection,
        repository=repository,
        report=report,
    )
    server.start()
    return server


def sample_format(package: WebPackage) -> SampleFormat:
    """Return the format of the samples that the page of ``package`` sends."""
    (model,) = package.description["models"]
    before = model["before"]
    assert before is not None and package.page is not None
    if before["kind"] == "audio":
        return SampleFormat(rate=package.page.sound["rate"], count=before["count"])
    return SampleFormat(width=before["width"], height=before["height"])


def instructions(server: PageServer, collect: Path | None) -> list[str]:
    """Return the text that tells a person how to open the page: paragraphs, and the QR code of the address if other
    devices can open it. Raises ``UsageError`` if the package segno (extra ``web``) is missing."""
    lines = [f"Page: {server.url}"]
    if server.is_local:
        lines.append(
            "Only this computer can open it. For a phone in the same network, give the address 0.0.0.0:8443."
        )
    else:
        lines += [*_qr_code(server.url), "Scan the code with a phone in the same network."]
    if server.authority_pem:
        lines += _trust(server)
    if collect is not None:
        lines.append(f"Samples that users of the page save are stored in {collect}.")
    return [*lines, "Press Ctrl-C to stop."]


def _trust(server: PageServer) -> Sequence[str]:
    """Return what to do about the browser's warning."""
    return (
        "The phone's browser warns about the certificate, because it is from this computer. Continue, or make the"
        " phone trust this computer once, which the page needs to work offline:",
        f"  1. Open {server.public_url.rstrip('/')}{AUTHORITY_PATH} on the phone. The SHA-256 fingerprint is",
        f"     {local_authority().fingerprint}",
        "  2. Android: Settings > Security > Encryption & credentials > Install a certificate > CA certificate.",
        "     iPhone: Settings > Profile Downloaded > Install; then Settings > General > About > Certificate Trust"
        " Settings.",
        "This certificate authority can certify only addresses and names of local networks.",
    )


def _qr_code(text: str) -> Sequence[str]:
    """Return the rows of a QR code of ``text``, drawn with block characters."""
    from io import StringIO

    try:
        import segno
    except ModuleNotFoundError as error:
        raise UsageError(
            "The QR code needs the package segno.", "Install it: pip install 'arenite[web]'."
        ) from error
    drawing = StringIO()
    segno.make(text, error="l", micro=False).terminal(drawing, compact=True)
    return drawing.getvalue().rstrip("\n").split("\n")
