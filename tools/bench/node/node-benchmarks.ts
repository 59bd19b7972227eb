import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild } from 'embedded-eventstore/child-server'
import { startEventStore } from 'embedded-eventstore'
import type { Benchmark, Measuring } from '../harness/benchmark.ts'
import { atLeast, atMost, single, type Comparison, median } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startOfLog } from '../../../platform/kit/positions.ts'
import { connectEventStore } from '../../../engine/store/connection.ts'
import { frameOf } from '../../../engine/store/log-frames.ts'
import { openRawLog } from '../../../engine/store/raw-calls.ts'
import { append, fill, readAll, subscribeToAll } from './workload.ts'

type NodeSizes = {
  /** Number of events in the node that is read and compared with an empty one. */
  events: number
  /** Number of events in one read, at most a tenth of `events`. */
  reading: number
  /** Number of appends in one measurement with many in flight. One in flight uses a tenth. */
  appends: number
}

const FULL: NodeSizes = { events: 1_000_000, reading: 100_000, appends: 20_000 }
const QUICK: NodeSizes = { events: 100_000, reading: 10_000, appends: 2_000 }

const CANNED_SERVER = fileURLToPath(new URL('canned-server.ts', import.meta.url))
const COMPRESSING_SERVER = fileURLToPath(new URL('compressing-server.ts', import.meta.url))
const MOST_IN_FLIGHT = 256

export const eventStoreNode: Benchmark = {
  name: 'node',
  goals: ['4', '5', '5a', '5c', '11'],
  about: 'the embedded event store node over one that stores nothing, over itself when empty, over a real EventStoreDB',
  run: async (settings, measuring) => {
    const sizes = settings.quick ? QUICK : FULL
    const events = Math.max(settings.events ?? sizes.events, 10 * sizes.reading)
    await measureNode({ ...sizes, events }, settings.realUrl, measuring)
  },
}

async function measureNode(
  sizes: NodeSizes,
  realUrl: string | undefined,
  { compare, notRun }: Measuring,
): Promise<void> {
  const { events, reading, appends } = sizes
  await withScope(async ({ folder, started }) => {
    const canned = await started(startChild({ name: 'canned server', script: CANNED_SERVER }))
    const empty = await started(startEventStore({ dataDir: join(folder, 'empty'), port: 0 }))
    const full = await started(startEventStore({ dataDir: join(folder, 'full'), port: 0 }))
    const lastTenth = await fill(full.url, events)
    const cannedUrl = `esdb://127.0.0.1:${canned.port}?tls=false`
    // This comes first, while the empty node is almost empty.
    await compare(
      single({
        goalNumber: '11',
        name: `append p50 at ${events.toLocaleString('en')} events`,
        unit: 'ms',
        ours: { name: 'full', measure: () => appendMedian(full.url, appends / 10) },
        other: { name: 'empty', measure: () => appendMedian(empty.url, appends / 10) },
        goal: atMost(1.1),
      }),
    )
    await compare(
      single({
        goalNumber: '4',
        name: `appends, ${MOST_IN_FLIGHT} in flight`,
        unit: 'per second',
        ours: { name: 'node', measure: () => appendRate(empty.url, appends, MOST_IN_FLIGHT) },
        other: { name: 'without storing', measure: () => appendRate(cannedUrl, appends, MOST_IN_FLIGHT) },
        goal: atLeast(0.7),
      }),
    )
    await compare(
      single({
        goalNumber: '5',
        name: '`readAll`',
        unit: 'events per second',
        ours: { name: 'node', measure: () => readAll(full.url, reading) },
        other: { name: 'canned frames', measure: () => readAll(cannedUrl, reading) },
        goal: atLeast(0.85),
      }),
    )
    await compare(
      single({
        goalNumber: '5',
        name: `\`readAll\` in ${events.toLocaleString('en')} events`,
        unit: 'events per second',
        ours: { name: 'last tenth', measure: () => readAll(full.url, reading, lastTenth) },
        other: { name: 'first tenth', measure: () => readAll(full.url, reading) },
        goal: atLeast(0.95),
      }),
    )
    const compressing = await started(startChild({ name: 'compressing server', script: COMPRESSING_SERVER }))
    const plain = await started(startChild({ name: 'plain server', script: COMPRESSING_SERVER, args: ['--plain'] }))
    await compare(
      single({
        goalNumber: '5c',
        name: 'reads of the log, server that compresses when it may',
        unit: 'events per second',
        ours: { name: 'compressing server', measure: () => readFrames(compressing.port, reading) },
        other: { name: 'plain server', measure: () => readFrames(plain.port, reading) },
        goal: atLeast(0.95),
      }),
    )
    if (realUrl === undefined) {
      notRun({
        goal: '5a',
        name: 'appends, `readAll`, `subscribeToAll` over EventStoreDB',
        why: 'ESDB_URL is not set',
      })
      return
    }
    await fill(realUrl, reading)
    for (const comparison of overReal(empty.url, full.url, realUrl, sizes)) await compare(comparison)
  })
}

function overReal(empty: string, full: string, real: string, { appends, reading }: NodeSizes): readonly Comparison[] {
  const appending = (inFlight: number, count: number, ratio: number): Comparison =>
    single({
      goalNumber: '5a',
      name: `appends, ${inFlight} in flight`,
      unit: 'per second',
      ours: { name: 'node', measure: () => appendRate(empty, count, inFlight) },
      other: { name: 'EventStoreDB', measure: () => appendRate(real, count, inFlight) },
      goal: atLeast(ratio),
    })
  const readers = { '`readAll`': readAll, '`subscribeToAll`': subscribeToAll }
  const readings = Object.entries(readers).map(([name, read]) =>
    single({
      goalNumber: '5a',
      name,
      unit: 'events per second',
      ours: { name: 'node', measure: () => read(full, reading) },
      other: { name: 'EventStoreDB', measure: () => read(real, reading) },
      goal: atLeast(1),
    }),
  )
  return [
    appending(1, appends / 10, 1.5),
    appending(64, appends, 1.1),
    appending(MOST_IN_FLIGHT, appends, 1),
    ...readings,
  ]
}

/** Events a second that the connection of the platform reads. */
async function readFrames(port: number, count: number): Promise<number> {
  const connection = connectEventStore({ url: `esdb://127.0.0.1:${port}?tls=false` })
  try {
    const call = await openRawLog(connection.subscriptions, startOfLog)
    const startedAt = performance.now()
    let seen = 0
    for await (const message of call) {
      if (frameOf(message as Buffer) === undefined) throw new Error('a message without an event')
      seen += 1
      if (seen === count) break
    }
    return (count * 1000) / (performance.now() - startedAt)
  } finally {
    connection.close()
  }
}

async function appendRate(url: string, count: number, inFlight: number): Promise<number> {
  return (count * 1000) / (await append(url, count, inFlight)).all
}

async function appendMedian(url: string, count: number): Promise<number> {
  return median((await append(url, count, 1)).each)
}
