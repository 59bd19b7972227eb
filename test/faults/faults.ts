import { EventStoreDBClient, binaryEvent } from '@eventstore/db-client'
import { randomBytes } from 'node:crypto'
import { stopServer } from '../end-to-end/bad-days/listening-process.ts'
import type { Fault } from './fault.ts'
import { limitFileSize, newestSegmentSize } from './file-size-limit.ts'
import type { ServerName } from './stage/servers.ts'
import type { Stage } from './stage/stage.ts'

const shownBy: Readonly<Record<ServerName, readonly string[]>> = {
  'event store': ['event_store'],
  Postgres: ['database'],
  'object store': [],
  provider: [],
}

function restarted(server: ServerName): Fault {
  return {
    name: `${server} restarted`,
    means: 'SIGTERM, and started again',
    seconds: { full: 10, short: 2 },
    health: shownBy[server],
    async begin({ servers }) {
      await servers.of[server].stop()
      return () => servers.of[server].start()
    },
  }
}

function killed(server: ServerName): Fault {
  return {
    name: `${server} killed`,
    means: 'SIGKILL, and started again',
    seconds: { full: 10, short: 2 },
    health: shownBy[server],
    async begin({ servers }) {
      await servers.of[server].kill()
      return () => servers.of[server].start()
    },
  }
}

function paused(server: ServerName): Fault {
  return {
    name: `${server} paused`,
    means: 'SIGSTOP, then SIGCONT',
    seconds: { full: 30, short: 3 },
    health: shownBy[server],
    async begin({ servers }) {
      const stopped = await stopServer(`http://127.0.0.1:${servers.of[server].port}`)
      return () => stopped.goOn()
    },
  }
}

function slow(server: ServerName, delayMs: number): Fault {
  return {
    name: `${server} slow by ${delayMs} ms`,
    means: 'a line that delivers every piece later, in both directions',
    seconds: { full: 30, short: 3 },
    health: delayMs >= 1_000 ? shownBy[server] : [],
    async begin({ servers }) {
      const { line } = servers.of[server]
      line.slow(delayMs)
      return () => line.slow(0)
    },
  }
}

function cut(server: ServerName): Fault {
  return {
    name: `${server} cut off every 700 ms`,
    means: 'a line that drops all its connections',
    seconds: { full: 30, short: 3 },
    health: [],
    async begin({ servers }) {
      const { line } = servers.of[server]
      line.cutEvery(700)
      return () => line.cutEvery(undefined)
    },
  }
}

/** The node's log may not grow any more, by a limit of its process, and what room it has is used up. */
const limitedNode: Fault = {
  name: 'event store out of disk space',
  means: 'RLIMIT_FSIZE of its process',
  seconds: { full: 30, short: 3 },
  health: ['event_store_room'],
  async begin({ servers }) {
    const { pid, dataDir, port } = servers.of['event store']
    await limitFileSize(pid, await newestSegmentSize(dataDir))
    await useUpRoom(port)
    return () => limitFileSize(pid, 'unlimited')
  },
}

/** Appends to a system stream, which nobody here reads, down to the last kilobytes that the node has written ahead. */
export async function useUpRoom(port: number): Promise<void> {
  const client = EventStoreDBClient.connectionString(`esdb://127.0.0.1:${port}?tls=false`)
  try {
    for (let bytes = 512 << 10; bytes > 16; ) {
      const taken = await client.appendToStream('$ballast', binaryEvent({ type: 'Ballast', data: new Uint8Array(randomBytes(bytes)) })).then(() => true, () => false)
      if (!taken) bytes >>= 1
    }
  } finally {
    await client.dispose()
  }
}

/** What can be done to any stage. Those that need a disk or a clock of their own are in `disks.ts` and `clocks.ts`. */
export const faults: readonly Fault[] = [
  restarted('event store'),
  killed('event store'),
  paused('event store'),
  slow('event store', 200),
  slow('event store', 5_000),
  cut('event store'),
  limitedNode,
  restarted('Postgres'),
  killed('Postgres'),
  paused('Postgres'),
  slow('Postgres', 200),
  slow('Postgres', 5_000),
  cut('Postgres'),
  killed('object store'),
  paused('object store'),
  slow('object store', 5_000),
  killed('provider'),
  paused('provider'),
  slow('provider', 5_000),
]

export function faultNamed(name: string): Fault {
  const found = faults.find((fault) => fault.name === name)
  if (found === undefined) throw new Error(`no fault is named ${name}`)
  return found
}

export type { Stage }
