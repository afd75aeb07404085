"""A client takes models from a repository, and refuses what an attacker on the way or on the server can send."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("tuf", reason="needs tuf: pip install 'arenite[update]'")
from arenite.errors import UsageError
from arenite.host.update.repository.background_check import BackgroundCheck
from arenite.host.update.repository.client import ModelRepository
from arenite.host.update.repository.errors import RepositoryRefused, RepositoryUnavailable
from tests.host.update.repository.repositories import LONG_AGO, Publisher, client, http_server, write_model


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    return Publisher(tmp_path / "repository")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return model_file(tmp_path / "detector.tflite", 1)


def model_file(path: Path, number: int) -> Path:
    write_model(path, number)
    return path


@pytest.mark.parametrize("over_http", [False, True])
def test_a_model_is_found_and_downloaded(
    publisher: Publisher, model: Path, tmp_path: Path, over_http: bool
) -> None:
    target = publisher.add(model, "1.0.0")
    with http_server(publisher.folder) as address:
        repository = client(publisher, tmp_path / "cache", address if over_http else None)
        found = repository.find("detector")
        assert found is not None and found == target
        assert (found.version, found.kind, found.counter, found.min_counter) == ("1.0.0", "tflite", 1, 0)
        assert repository.download(found).read_bytes() == model.read_bytes()
        assert repository.download(found).suffix == ".tflite"
        assert repository.find("other") is None
    model_file(model, 2)
    publisher.add(model, "1.1.0")
    later = client(publisher, tmp_path / "cache")
    newer = later.find("detector")
    assert newer is not None and (newer.version, newer.counter) == ("1.1.0", 2)
    assert later.download(newer).read_bytes() == model.read_bytes()
    later.forget_files({newer.sha256})
    assert [path.stem for path in (tmp_path / "cache" / "targets").iterdir()] == [newer.sha256]


def test_the_root_may_change(publisher: Publisher, model: Path, tmp_path: Path) -> None:
    from arenite.host.update.repository.publisher import refresh_repository

    publisher.add(model, "1.0.0")
    first_root = publisher.root.read_bytes()
    refresh_repository(publisher.folder, publisher.keys)
    assert publisher.root.read_bytes() == first_root  # clients follow the chain from the first root
    assert (publisher.folder / "metadata" / "2.root.json").exists()
    assert client(publisher, tmp_path / "cache").find("detector") is not None
    assert (tmp_path / "cache" / "metadata" / "root_history" / "2.root.json").exists()


def test_rollback_is_refused(publisher: Publisher, model: Path, tmp_path: Path) -> None:
    publisher.add(model, "1.0.0")
    shutil.copytree(publisher.folder, tmp_path / "old")
    publisher.add(model_file(model, 2), "1.1.0")
    assert client(publisher, tmp_path / "cache").find("detector") is not None
    # The attacker serves the old state, which is signed and has not expired.
    with (
        http_server(tmp_path / "old") as address,
        pytest.raises(RepositoryRefused, match="older than the one"),
    ):
        client(publisher, tmp_path / "cache", address).find("detector")


def test_freeze_is_refused_when_the_metadata_expires(
    publisher: Publisher, model: Path, tmp_path: Path
) -> None:
    publisher.add(model, "1.0.0", now=LONG_AGO)
    with pytest.raises(RepositoryRefused, match=r"has expired .*timestamp\.json") as caught:
        client(publisher, tmp_path / "cache").find("detector")
    assert "update repository refresh" in caught.value.hint
    publisher.refresh()
    assert client(publisher, tmp_path / "cache").find("detector") is not None


def test_mix_and_match_is_refused(publisher: Publisher, model: Path, tmp_path: Path) -> None:
    publisher.add(model, "1.0.0")
    old = (publisher.folder / "metadata" / "2.targets.json").read_bytes()
    publisher.add(model_file(model, 2), "1.1.0")
    # The new snapshot, together with the targets of the old one.
    (publisher.folder / "metadata" / "3.targets.json").write_bytes(old)
    with pytest.raises(RepositoryRefused, match="differs from the one that was signed"):
        client(publisher, tmp_path / "cache").find("detector")


def test_a_foreign_key_is_refused(publisher: Publisher, model: Path, tmp_path: Path) -> None:
    publisher.add(model, "1.0.0")
    attacker = Publisher(tmp_path / "attacker")
    attacker.add(model_file(model, 2), "9.0.0")
    with pytest.raises(RepositoryRefused, match="not signed with the keys of the trusted root"):
        client(publisher, tmp_path / "cache", str(attacker.folder)).find("detector")
    # Metadata of the right repository with a changed version, whose signature is therefore wrong.
    path = publisher.folder / "metadata" / "timestamp.json"
    content = json.loads(path.read_bytes())
    content["signed"]["version"] += 1
    path.write_text(json.dumps(content))
    with pytest.raises(RepositoryRefused, match="not signed"):
        client(publisher, tmp_path / "cache").find("detector")


def test_a_changed_model_is_refused(publisher: Publisher, model: Path, tmp_path: Path) -> None:
    target = publisher.add(model, "1.0.0")
    path = publisher.folder / "targets" / f"{target.sha256}.detector"
    data = path.read_bytes()
    for changed, words in (
        (data[:-1] + b"x", "differs from the one that was signed"),
        (data[:-1], "differs from the one that was signed"),
        (data + b"x", "longer than the signed metadata permits"),
    ):
        path.write_bytes(changed)
        repository = client(publisher, tmp_path / "cache")
        assert repository.find("detector") == target
        with pytest.raises(RepositoryRefused, match=words):
            repository.download(target)
        assert list((tmp_path / "cache" / "targets").iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff\xfe", b'{"signed": {"_type": "timestamp"}}', b"[" * 10000]
)
def test_damaged_metadata_is_refused(
    publisher: Publisher, model: Path, tmp_path: Path, content: bytes
) -> None:
    publisher.add(model, "1.0.0")
    (publisher.folder / "metadata" / "timestamp.json").write_bytes(content)
    with pytest.raises(RepositoryRefused, match="is not valid"):
        client(publisher, tmp_path / "cache").find("detector")


def test_a_lower_counter_than_required_is_refused(publisher: Publisher, model: Path, tmp_path: Path) -> None:
    publisher.add(model, "1.0.0", min_counter=None)
    publisher.add(model, "1.1.0", counter=5, min_counter=5)
    repository = client(publisher, tmp_path / "cache")
    assert repository.find("detector") is not None
    # A second state with newer metadata, in which the counter is lower: a publisher that lost a state did this.
    other = Publisher.__new__(Publisher)
    other.folder, other.keys = tmp_path / "again", publisher.keys
    shutil.copytree(publisher.folder, other.folder)
    from arenite.host.update.repository import publisher as publishing

    state = publishing._RepositoryFiles(other.folder)
    state._roles["targets"].signed.targets.clear()
    state.sign_with("targets", publishing._signer(publisher.keys.targets, "targets"))
    state.sign_with("snapshot", publishing._signer(publisher.keys.online, "online"))
    state.renew(("targets", "snapshot", "timestamp"), publishing.Expiry())
    other.add(model_file(model, 3), "1.2.0")
    with pytest.raises(RepositoryRefused, match="counter 1, but an earlier version required at least 5"):
        client(publisher, tmp_path / "cache", str(other.folder)).find("detector")


def test_an_unreachable_server_is_no_refusal(publisher: Publisher, tmp_path: Path) -> None:
    with http_server(publisher.folder) as address:
        pass
    with pytest.raises(RepositoryUnavailable, match="cannot be read now"):
        client(publisher, tmp_path / "cache", address).find("detector")


def test_what_a_client_remembers(publisher: Publisher, tmp_path: Path) -> None:
    repository = client(publisher, tmp_path / "cache")
    repository.refuse("ab", "1.0.0", "it is slow")
    repository.accept("cd")
    state = client(publisher, tmp_path / "cache").state()
    assert state.refused == {"ab": {"version": "1.0.0", "reason": "it is slow"}} and state.accepted == "cd"
    for number in range(150):
        repository.refuse(str(number), "1.0.0", "no")
    assert len(repository.state().refused) == 100 and "149" in repository.state().refused
    (tmp_path / "cache" / "state.json").write_text("[]")
    assert repository.state().refused == {}


@pytest.mark.parametrize(
    "location",
    [
        "ftp://host/x",
        "https://user:secret@host/x",
        "https://host/x?token=secret",
        "nowhere",
        "https://host/#a",
    ],
)
def test_addresses_that_cannot_be_used(publisher: Publisher, tmp_path: Path, location: str) -> None:
    with pytest.raises(UsageError) as caught:
        ModelRepository(location, publisher.root, tmp_path / "cache")
    assert "secret" not in str(caught.value)


def test_a_root_that_is_none(publisher: Publisher, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.json"):
        ModelRepository(str(publisher.folder), tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(UsageError, match="is not the root metadata"):
        ModelRepository(str(publisher.folder), tmp_path / "bad.json", tmp_path / "cache").find("detector")


def test_the_check_in_a_process_of_its_own(
    publisher: Publisher, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "arenite"))
    target = publisher.add(model, "1.0.0")
    check = BackgroundCheck(str(publisher.folder), publisher.root, "detector")
    result = check.run(())
    assert result is not None and result.target == target and result.path is not None
    assert result.path.read_bytes() == model.read_bytes()
    known = check.run({target.sha256})
    assert known is not None and known.path is None
    other = BackgroundCheck(str(publisher.folder), publisher.root, "other")
    assert other.run(()) is None
    (publisher.folder / "metadata" / "timestamp.json").unlink()
    with pytest.raises(RepositoryUnavailable):
        check.run(())
    check.stop()
    assert check.run(()) is None
