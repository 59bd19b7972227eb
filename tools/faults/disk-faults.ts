import { EventStoreDBClient, binaryEvent } from '@eventstore/db-client'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Client } from 'pg'
import { anywhere, type Fault, type Ground } from './fault.ts'
import { limitFileSize, newestSegmentSize } from './file-size-limit.ts'
import type { ServerName } from './stage/servers.ts'
import { mountSmallDisk } from './stage/small-disk.ts'
import type { Stage } from './stage/stage.ts'

const seconds = { full: 30, short: 4 }

/** The log of the node cannot grow, because of a limit of its process. The room that it had allocated is used up. */
const limitedNode: Fault = {
  name: 'event store out of room by a limit',
  means: 'RLIMIT_FSIZE of its process; the room allocated ahead is used up',
  seconds,
  health: ['event_store_room'],
  prepare: anywhere(async ({ servers }) => {
    const { pid, dataDir, port } = servers.of['event store']
    await limitFileSize(pid, await newestSegmentSize(dataDir))
    await useUpRoom(port)
    return () => limitFileSize(pid, 'unlimited')
  }),
}

const fullNode: Fault = {
  name: 'event store out of disk space',
  means: 'a tmpfs of 32 MB without a free byte; the room allocated ahead is used up',
  seconds,
  health: ['event_store_room'],
  prepare: () => onSmallDisk('event store', 32, async ({ servers }) => useUpRoom(servers.of['event store'].port)),
}

const fullPostgres: Fault = {
  name: 'Postgres out of disk space',
  means: 'a tmpfs of 192 MB without a free byte',
  seconds,
  // Rows fit into free space of existing pages until a page is full.
  health: [],
  prepare: () => onSmallDisk('Postgres', 192, async () => undefined),
}

/**
 * The same effect without a mounted disk, and already at the first write: a trigger makes each table of both databases
 * refuse writes.
 */
const refusingPostgres: Fault = {
  name: 'Postgres refuses writes for want of room',
  means: 'a trigger on every table that ends in SQLSTATE 53100',
  seconds,
  health: ['projections'],
  prepare: anywhere(async ({ servers }) => {
    const urls = [servers.env['DATABASE_URL'] ?? '', servers.env['VAULT_DATABASE_URL'] ?? '']
    for (const url of urls) await statement(url, refuseWrites)
    return async () => {
      for (const url of urls) await statement(url, 'drop function public.refuse_for_room() cascade')
    }
  }),
}

const refuseWrites = `
  create function public.refuse_for_room() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
  do $$ declare name regclass; begin
    for name in select oid::regclass from pg_class where relkind = 'r' and relnamespace::regnamespace::text !~ '^(pg_|information_schema)' loop
      execute format('create trigger refuse_for_room before insert or update on %s execute function public.refuse_for_room()', name);
    end loop;
  end $$`

/** A checkpoint comes every five minutes. Without room it is a panic, and so is the recovery after it. */
const endedPostgres: Fault = {
  name: 'Postgres ended by a full disk',
  means: 'a full tmpfs of 192 MB, then a checkpoint that ends the server',
  seconds,
  health: ['database'],
  prepare: () =>
    onSmallDisk('Postgres', 192, ({ servers }) =>
      statement(servers.env['DATABASE_URL'] ?? '', 'checkpoint').catch(() => undefined),
    ),
}

export const diskFaults: readonly Fault[] = [limitedNode, fullNode, refusingPostgres, fullPostgres, endedPostgres]

async function onSmallDisk(
  server: ServerName,
  megabytes: number,
  once: (stage: Stage) => Promise<void>,
): Promise<Ground> {
  const disk = await mountSmallDisk(megabytes)
  return {
    options: { folders: { [server]: join(disk.path, 'data') } },
    async begin(stage) {
      await disk.fill()
      await once(stage)
      return () => disk.empty()
    },
    release: () => disk.release(),
  }
}

async function statement(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Appends to a system stream that nobody reads, until the room that the node has allocated is used up. */
async function useUpRoom(port: number): Promise<void> {
  const client = EventStoreDBClient.connectionString(`esdb://127.0.0.1:${port}?tls=false`)
  try {
    for (let bytes = 512 << 10; bytes > 16;) {
      const ballast = binaryEvent({ type: 'Ballast', data: new Uint8Array(randomBytes(bytes)) })
      const isTaken = await client.appendToStream('$ballast', ballast).then(
        () => true,
        () => false,
      )
      if (!isTaken) bytes >>= 1
    }
  } finally {
    await client.dispose()
  }
}
