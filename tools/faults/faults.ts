import { stopServer } from '../../test/end-to-end/bad-days/listening-process.ts'
import { clockFaults } from './clock-faults.ts'
import { diskFaults } from './disk-faults.ts'
import { anywhere, type Fault } from './fault.ts'
import type { ServerName } from './stage/servers.ts'

const shownBy: Readonly<Record<ServerName, readonly string[]>> = {
  'event store': ['event_store'],
  Postgres: ['database'],
  'object store': [],
  provider: [],
}

function restarted(server: ServerName): Fault {
  return {
    name: `${server} restarted`,
    server,
    means: 'SIGTERM, then a start',
    seconds: { full: 10, short: 2 },
    health: shownBy[server],
    prepare: anywhere(async ({ servers }) => {
      await servers.of[server].stop()
      return () => servers.of[server].start()
    }),
  }
}

function killed(server: ServerName): Fault {
  return {
    name: `${server} killed`,
    server,
    means: 'SIGKILL, then a start',
    seconds: { full: 10, short: 2 },
    health: shownBy[server],
    prepare: anywhere(async ({ servers }) => {
      await servers.of[server].kill()
      return () => servers.of[server].start()
    }),
  }
}

function paused(server: ServerName): Fault {
  return {
    name: `${server} paused`,
    server,
    means: 'SIGSTOP, then SIGCONT',
    seconds: { full: 30, short: 3 },
    health: shownBy[server],
    prepare: anywhere(async ({ servers }) => {
      const stopped = await stopServer(`http://127.0.0.1:${servers.of[server].port}`)
      return () => stopped.goOn()
    }),
  }
}

function slow(server: ServerName, delayMs: number): Fault {
  return {
    name: `${server} slow by ${delayMs} ms`,
    server,
    means: 'a proxy that delays every chunk in both directions',
    seconds: { full: 30, short: 3 },
    health: delayMs >= 1_000 ? shownBy[server] : [],
    prepare: anywhere(async ({ servers }) => {
      const { line } = servers.of[server]
      line.slow(delayMs)
      return () => line.slow(0)
    }),
  }
}

function cut(server: ServerName): Fault {
  return {
    name: `${server} cut off every 700 ms`,
    server,
    means: 'a proxy that cuts all its connections',
    seconds: { full: 30, short: 3 },
    health: [],
    prepare: anywhere(async ({ servers }) => {
      const { line } = servers.of[server]
      line.cutEvery(700)
      return () => line.cutEvery(undefined)
    }),
  }
}

/** All faults. */
export const faults: readonly Fault[] = [
  restarted('event store'),
  killed('event store'),
  paused('event store'),
  slow('event store', 200),
  slow('event store', 5_000),
  cut('event store'),
  restarted('Postgres'),
  killed('Postgres'),
  paused('Postgres'),
  slow('Postgres', 200),
  slow('Postgres', 5_000),
  cut('Postgres'),
  restarted('object store'),
  killed('object store'),
  paused('object store'),
  slow('object store', 5_000),
  killed('provider'),
  paused('provider'),
  slow('provider', 5_000),
  ...diskFaults,
  ...clockFaults,
]

export function faultNamed(name: string): Fault {
  const found = faults.find((fault) => fault.name === name)
  if (found === undefined) throw new Error(`unknown fault: ${name}`)
  return found
}
