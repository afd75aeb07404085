"""The tables of the registry, and the steps from each version of them to the next."""

from __future__ import annotations

from arenite.errors import UsageError
from arenite.host.fleet.database import Database, Transaction

#: Each entry has the statements of one version. An entry that was released is never changed; a new one is added.
#: ``{identity}`` is the type of a column that numbers the rows.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # The name of the fleet. A server was last connected to the broker at ``served_ms``, and before it without a
        # gap from ``serving_since_ms`` on.
        "CREATE TABLE fleet (name TEXT PRIMARY KEY, served_ms BIGINT NOT NULL, serving_since_ms BIGINT NOT NULL)",
        """CREATE TABLE devices (
            device TEXT PRIMARY KEY, board TEXT NOT NULL, core TEXT NOT NULL, group_name TEXT NOT NULL,
            registered_ms BIGINT NOT NULL, seen_ms BIGINT NOT NULL, is_online INTEGER NOT NULL,
            release TEXT NOT NULL, firmware TEXT NOT NULL, model TEXT NOT NULL, abi TEXT NOT NULL,
            reset_cause TEXT NOT NULL, generation BIGINT NOT NULL,
            desired_generation BIGINT NOT NULL, desired_release TEXT NOT NULL, desired_image TEXT NOT NULL)""",
        "CREATE INDEX devices_of_group ON devices (group_name, board)",
        """CREATE TABLE events (
            device TEXT NOT NULL, epoch BIGINT NOT NULL, sequence BIGINT NOT NULL, kind TEXT NOT NULL,
            time_ms BIGINT NOT NULL, received_ms BIGINT NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (device, epoch, sequence))""",
        # All events up to ``acknowledged`` are stored, or the device had to drop them.
        """CREATE TABLE streams (
            device TEXT NOT NULL, epoch BIGINT NOT NULL, acknowledged BIGINT NOT NULL, stored BIGINT NOT NULL,
            PRIMARY KEY (device, epoch))""",
        "CREATE TABLE releases (release TEXT PRIMARY KEY, created_ms BIGINT NOT NULL)",
        """CREATE TABLE release_images (
            release TEXT NOT NULL, board TEXT NOT NULL, image TEXT NOT NULL, reference TEXT NOT NULL,
            PRIMARY KEY (release, board))""",
        """CREATE TABLE rollouts (
            id {identity}, release TEXT NOT NULL, group_name TEXT NOT NULL, state TEXT NOT NULL,
            wave INTEGER NOT NULL, created_ms BIGINT NOT NULL, wave_started_ms BIGINT NOT NULL,
            soak_started_ms BIGINT NOT NULL, settings TEXT NOT NULL, reason TEXT NOT NULL)""",
        # A group has at most one rollout that gives devices the new release.
        """CREATE UNIQUE INDEX one_rollout_per_group ON rollouts (group_name)
            WHERE state = 'running' OR state = 'paused'""",
        """CREATE TABLE rollout_devices (
            rollout BIGINT NOT NULL, device TEXT NOT NULL, board TEXT NOT NULL, wave INTEGER NOT NULL,
            state TEXT NOT NULL, was_seen INTEGER NOT NULL, chosen_ms BIGINT NOT NULL, generation BIGINT NOT NULL,
            previous_release TEXT NOT NULL, previous_image TEXT NOT NULL, golden_failures BIGINT NOT NULL,
            reason TEXT NOT NULL, PRIMARY KEY (rollout, device))""",
        "CREATE INDEX rollouts_of_device ON rollout_devices (device, state)",
        # Sums of heartbeats by release, board, group and period of time.
        """CREATE TABLE cohorts (
            release TEXT NOT NULL, board TEXT NOT NULL, group_name TEXT NOT NULL, period_ms BIGINT NOT NULL,
            quantity TEXT NOT NULL, bucket INTEGER NOT NULL, amount BIGINT NOT NULL,
            PRIMARY KEY (group_name, board, release, period_ms, quantity, bucket))""",
        """CREATE TABLE audit (
            id {identity}, time_ms BIGINT NOT NULL, actor TEXT NOT NULL, rollout BIGINT NOT NULL, action TEXT NOT
            NULL, details TEXT NOT NULL)""",
    ),
    (
        # All events up to ``pruned`` were deleted. They are not stored again.
        "ALTER TABLE streams ADD COLUMN pruned BIGINT NOT NULL DEFAULT 0",
        "CREATE INDEX cohorts_of_period ON cohorts (period_ms)",
    ),
    (
        # Codes with which devices get their certificate once. ``used_ms`` is 0 while a code was not used.
        """CREATE TABLE enrolments (
            code_hash TEXT PRIMARY KEY, device TEXT NOT NULL, group_name TEXT NOT NULL, expires_ms BIGINT NOT NULL,
            used_ms BIGINT NOT NULL)""",
        # Certificates of devices, by their serial number in hexadecimal digits. ``revoked_ms`` is 0 if one is not
        # revoked.
        """CREATE TABLE certificates (
            serial TEXT PRIMARY KEY, device TEXT NOT NULL, expires_ms BIGINT NOT NULL, revoked_ms BIGINT NOT NULL)""",
        "CREATE INDEX certificates_of_device ON certificates (device)",
    ),
    # Releases with a firmware and a model for a board. Both texts are empty if there is one image.
    tuple(
        f"ALTER TABLE {table} ADD COLUMN {prefix}{kind} TEXT NOT NULL DEFAULT ''"
        for table, prefix in (
            ("release_images", ""),
            ("devices", "desired_"),
            ("rollout_devices", "previous_"),
        )
        for kind in ("firmware", "model")
    ),
)


def migrate(database: Database, *, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS) -> None:
    """Bring the tables to the newest version. Raises ``UsageError`` if they are newer, and ``DatabaseError``."""
    with database.transaction() as transaction:
        database.lock_schema(transaction)
        transaction.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        version = _version(transaction)
        if version > len(migrations):
            raise UsageError(
                f"{database.name} has tables of version {version}; this Arenite knows version {len(migrations)}.",
                "Use the Arenite that wrote them, or a newer one.",
            )
        for statements in migrations[version:]:
            for statement in statements:
                transaction.execute(statement.replace("{identity}", database.identity_type))
        transaction.execute("DELETE FROM schema_version")
        transaction.execute("INSERT INTO schema_version (version) VALUES (?)", (len(migrations),))


def _version(transaction: Transaction) -> int:
    version: int = transaction.value("SELECT coalesce(max(version), 0) FROM schema_version")
    return version
