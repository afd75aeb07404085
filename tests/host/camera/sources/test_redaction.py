"""Tests that messages do not show the passwords and tokens in addresses and pipelines."""

from __future__ import annotations

import pytest

from arenite.host.camera.sources.factory import open_source
from arenite.host.camera.sources.redaction import redacted


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("rtsp://camera/stream", "rtsp://camera/stream"),
        ("rtsp://user:sesame@camera:554/a@b", "rtsp://camera:554/a@b"),
        ("rtsp://user:ses@me@camera/x", "rtsp://camera/x"),
        ("http://camera/video.cgi?user=a&pwd=sesame&n=1", "http://camera/video.cgi?user=a&pwd=…&n=1"),
        ("http://camera/x?access_token=sesame", "http://camera/x?access_token=…"),
        (
            "rtspsrc location=rtsp://u:sesame@h/x user-id=u user-pw='ses ame' ! decodebin",
            "rtspsrc location=rtsp://h/x user-id=u user-pw=… ! decodebin",
        ),
        (
            "videotestsrc pattern=key ! video/x-raw,width=64",
            "videotestsrc pattern=key ! video/x-raw,width=64",
        ),
    ],
)
def test_secrets_are_removed_from_addresses(address: str, expected: str) -> None:
    assert redacted(address) == expected


def test_names_of_sources_contain_no_secrets() -> None:
    for spec in (
        "rtsp://u:ses@me@h/x?token=sesame",
        "gst:rtspsrc location=rtsp://u:sesame@h/x user-pw=sesame",
    ):
        source = open_source(spec)
        assert "ses" not in source.name and "//h/x" in source.name
