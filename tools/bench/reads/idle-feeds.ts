import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../embedded/children/free-port.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import type { IdleStreamsJob } from '../load/jobs.ts'
import { startBenchPlatform } from '../load/platform.ts'
import { collectGarbage } from '../load/garbage.ts'
import { residentBytes, tellsOfProcesses } from '../harness/process-tree.ts'
import { startDriver, type Driver } from '../load/start-driver.ts'

const count = 1_000
/** Bytes of an idle consumer beyond a bare idle stream. */
const mostBytes = 30_000
/** Each stream has its first sign of life after this time, in milliseconds. */
const restMs = 17_000

/** Memory of a process for consumers that wait for an event. Each measurement starts a new process. */
export const idleFeeds: Benchmark = {
  name: 'idle-feeds',
  goals: ['26'],
  about: 'memory of 1,000 idle consumers of the event feed over as many bare idle streams and 30 kB each',
  run: async ({ quick }, { compare, notRun }) => {
    const waitMs = quick ? 1_000 : restMs
    const name = `memory held by the API process for ${count.toLocaleString('en')} idle consumers of the feed`
    if (!tellsOfProcesses) {
      notRun({ goal: '26', name, why: 'memory of processes is only readable in /proc' })
      return
    }
    await compare({
      goal: '26',
      figures: [{ name, unit: 'kB each', goal: atMost(1) }],
      ours: { name: 'feed', measure: async () => [await growthOfFeed(waitMs)] },
      other: {
        name: 'bare streams and 30 kB',
        measure: async () => [(await growthOfBare(waitMs)) + mostBytes / 1_000],
      },
      rounds: 2,
    })
  },
}

function growthOfFeed(waitMs: number): Promise<number> {
  return withScope(async ({ folder, started }) => {
    const inspector = await freePort()
    const env = { MAX_CONNECTIONS_PER_ADDRESS: String(2 * count), NODE_OPTIONS: inspected(inspector) }
    const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'], env }))
    const driver = await started(startDriver())
    const { baseUrl, headers, pid } = platform
    const url = `${baseUrl}/v1/events/consent`
    return growthOf({ pid, inspector, waitMs }, driver, { kind: 'idle-streams', url, headers, count })
  })
}

function growthOfBare(waitMs: number): Promise<number> {
  return withScope(async ({ started, atEnd }) => {
    const inspector = await freePort()
    const script = fileURLToPath(new URL('../load/bare-streams.ts', import.meta.url))
    const child = fork(script, { execArgv: [inspected(inspector)], stdio: ['ignore', 'inherit', 'ignore', 'ipc'] })
    const exited = once(child, 'exit')
    atEnd(async () => {
      child.kill()
      await exited
    })
    const [port] = await once(child, 'message')
    const driver = await started(startDriver())
    const job: IdleStreamsJob = { kind: 'idle-streams', url: `http://127.0.0.1:${port}/`, headers: {}, count }
    return growthOf({ pid: child.pid ?? 0, inspector, waitMs }, driver, job)
  })
}

function inspected(port: number): string {
  return `--inspect=127.0.0.1:${port}`
}

/** Kilobytes that each stream holds. The first streams load what all share. */
async function growthOf(server: Server, driver: Driver, job: IdleStreamsJob): Promise<number> {
  await driver.run({ ...job, count: 20 })
  const idle = await heldBytes(server)
  await driver.run(job)
  return ((await heldBytes(server)) - idle) / count / 1_000
}

/** Resident bytes after the first signs of life, without garbage. */
async function heldBytes({ pid, inspector, waitMs }: Server): Promise<number> {
  await pause(waitMs)
  await collectGarbage(inspector)
  return residentBytes([pid])
}

interface Server {
  readonly pid: number
  readonly inspector: number
  readonly waitMs: number
}
