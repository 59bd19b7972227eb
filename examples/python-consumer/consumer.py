"""Follows a channel with a checkpoint of its own. It may end at any moment, by SIGKILL too."""

import json
import os
import sqlite3
import sys
import time
from urllib.parse import quote, unquote

from kurrentdbclient import KurrentDBClient, RecordedEvent

COUNTED = {"assessment.completed", "assessment.failed", "assessment.reviewed"}


class Client(KurrentDBClient):
    """The client of 1.3.5 leaves login and password of its address percent-encoded."""

    def construct_call_credentials(self, username, password):
        return super().construct_call_credentials(unquote(username), unquote(password))


def connect() -> Client:
    login, password, certificate = (
        quote(os.environ[name], safe="")
        for name in ("EVENTSTORE_LOGIN", "EVENTSTORE_PASSWORD", "EVENTSTORE_CA_FILE")
    )
    address = os.environ["EVENTSTORE_ADDRESS"]
    return Client(f"esdb://{login}:{password}@{address}?tls=true&tlsCAFile={certificate}")


def open_database(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=30, isolation_level=None)
    for table in (
        "totals (org_id TEXT, event_type TEXT, count INTEGER NOT NULL, PRIMARY KEY (org_id, event_type))",
        "handled (event_id TEXT PRIMARY KEY)",
        "checkpoint (channel TEXT PRIMARY KEY, revision INTEGER NOT NULL)",
    ):
        database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    return database


def count_and_store(database: sqlite3.Connection, event: RecordedEvent) -> None:
    """Counts an event, and stores its revision in the same transaction. A crash leaves both or nothing."""
    with database:  # commits, or rolls back after an error
        database.execute("BEGIN IMMEDIATE")
        count(database, event)
        database.execute(
            "INSERT INTO checkpoint VALUES (?, ?) ON CONFLICT (channel) DO UPDATE SET revision = excluded.revision",
            (event.stream_name, event.stream_position),
        )


def count(database: sqlite3.Connection, event: RecordedEvent) -> None:
    # Channels get new types without notice. Ignore them.
    if event.type not in COUNTED:
        return
    # event_id in the data is the id of the event. A repeat has no effect.
    new = database.execute("INSERT INTO handled VALUES (?) ON CONFLICT DO NOTHING", (str(event.id),))
    if new.rowcount == 0:
        return
    database.execute(
        "INSERT INTO totals VALUES (?, ?, 1) ON CONFLICT (org_id, event_type) DO UPDATE SET count = count + 1",
        (json.loads(event.data)["org_id"], event.type),
    )


def main() -> None:
    channel = os.environ.get("CHANNEL", "assessment.events")
    database = open_database(os.environ.get("DATABASE", "totals.sqlite"))
    while True:
        try:
            row = database.execute("SELECT revision FROM checkpoint WHERE channel = ?", (channel,)).fetchone()
            after = None if row is None else row[0]
            print(f"follows {channel} after {after}", flush=True)
            with connect() as client, client.subscribe_to_stream(channel, stream_position=after) as events:
                for event in events:
                    count_and_store(database, event)
                    print(event.stream_position, event.type, event.id, flush=True)
        except Exception as error:
            print(repr(error), file=sys.stderr, flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main()
