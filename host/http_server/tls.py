"""Load the certificate with which a server encrypts its connections."""

from __future__ import annotations

import ssl
from pathlib import Path

from arenite.errors import UsageError


def server_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """Return a context for TLS 1.2 or newer with ``certificate``, a PEM file that may also hold the certificates of its
    authorities. ``key`` is a PEM file with the private key; None: the key is in ``certificate``.

    Raises ``UsageError`` if there is no certificate, if a file cannot be read, or if they do not belong together.
    """
    if certificate is None:
        raise UsageError("A key for TLS was given without a certificate.", "Give --tls-cert as well.")
    for path, option in ((certificate, "--tls-cert"), (key, "--tls-key")):
        if path is None:
            continue
        try:
            with path.open("rb") as file:
                file.read(1)
        except OSError as error:
            raise UsageError(
                f"The file {path} of {option} cannot be read: {error.strerror or error}.",
                "Give a PEM file that the user of this command may read.",
            ) from error

    def password() -> str:
        raise UsageError(
            f"The private key in {key or certificate} is encrypted with a password.",
            "Give a key without a password, in a file that only the user of this command may read.",
        )

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A client could use renegotiation to make this computer compute without end.
    context.options |= ssl.OP_NO_RENEGOTIATION
    try:
        context.load_cert_chain(certificate, key, password)
    except ssl.SSLError as error:
        raise UsageError(_problem(certificate, key, error), _HINT) from error
    return context


_HINT = (
    "Both files must be PEM files: the certificate first, then those of its authorities; and its private key in"
    " --tls-key or in the same file."
)


def _problem(certificate: Path, key: Path | None, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"The private key in {key or certificate} does not belong to the certificate in {certificate}."
    where = f"{certificate} and {key}" if key is not None else f"{certificate} (without --tls-key)"
    return f"{where}: no certificate with its private key was found ({error.reason or error})."
