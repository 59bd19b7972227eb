import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startChild } from '../../embedded/children/start-child.ts'
import { startEventStoreNode } from '../../embedded/eventstore/start.ts'
import type { Comparison, Measure } from '../harness/compare.ts'
import { median } from '../harness/statistics.ts'
import { append, fill, readAll, subscribeToAll } from './workload.ts'

export type NodeBenchmarkSettings = {
  /** Events in the node that is read and compared with an empty one. */
  events: number
  /** Events that one read takes, at most a tenth of `events`. */
  reading: number
  /** Appends of one measurement with many in flight; one in flight takes a tenth. */
  appends: number
  /** A fresh real EventStoreDB to compare with; undefined leaves those out. */
  realUrl: string | undefined
}

const CANNED_SERVER = fileURLToPath(new URL('canned-server.ts', import.meta.url))
const MOST_IN_FLIGHT = 256

/** Goals 4, 5, 5a and the append of goal 11 of the embedded node. Starts what they need; `run` gets them one by one. */
export async function withNodeBenchmarks(settings: NodeBenchmarkSettings, run: (comparison: Comparison) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-node-'))
  const stops: (() => Promise<void>)[] = []
  const started = async <Running extends { stop(): Promise<void> }>(starting: Promise<Running>): Promise<Running> => {
    const running = await starting
    stops.push(() => running.stop())
    return running
  }
  try {
    const canned = await started(startChild({ name: 'canned server', script: CANNED_SERVER }))
    const empty = await started(startEventStoreNode({ dataDir: join(folder, 'empty'), port: 0 }))
    const full = await started(startEventStoreNode({ dataDir: join(folder, 'full'), port: 0 }))
    const lastTenth = await fill(full.url, settings.events)
    if (settings.realUrl !== undefined) await fill(settings.realUrl, settings.reading)
    const { reading } = settings
    const cannedUrl = `esdb://127.0.0.1:${canned.ready.port}?tls=false`
    // First, while the empty node is nearly that.
    await run({
      name: `append p50 at ${settings.events.toLocaleString('en')} events`,
      unit: 'ms',
      ours: { name: 'full', measure: appendMedian(full.url, settings.appends / 10) },
      other: { name: 'empty', measure: appendMedian(empty.url, settings.appends / 10) },
      goal: { kind: 'at-most', ratio: 1.1 },
    })
    await run({
      name: `appends, ${MOST_IN_FLIGHT} in flight`,
      unit: 'per second',
      ours: { name: 'node', measure: appendRate(empty.url, settings.appends, MOST_IN_FLIGHT) },
      other: { name: 'without storing', measure: appendRate(cannedUrl, settings.appends, MOST_IN_FLIGHT) },
      goal: { kind: 'at-least', ratio: 0.7 },
    })
    await run({
      name: '`readAll`',
      unit: 'events per second',
      ours: { name: 'node', measure: () => readAll(full.url, reading) },
      other: { name: 'canned frames', measure: () => readAll(cannedUrl, reading) },
      goal: { kind: 'at-least', ratio: 0.85 },
    })
    await run({
      name: `\`readAll\` in ${settings.events.toLocaleString('en')} events`,
      unit: 'events per second',
      ours: { name: 'last tenth', measure: () => readAll(full.url, reading, lastTenth) },
      other: { name: 'first tenth', measure: () => readAll(full.url, reading) },
      goal: { kind: 'at-least', ratio: 0.95 },
    })
    if (settings.realUrl !== undefined) for (const comparison of withReal(empty.url, full.url, settings.realUrl, settings)) await run(comparison)
  } finally {
    for (const stop of stops.toReversed()) await stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function withReal(empty: string, full: string, real: string, { appends, reading }: NodeBenchmarkSettings): Comparison[] {
  const other = (measure: Measure): Comparison['other'] => ({ name: 'EventStoreDB', measure })
  const ours = (measure: Measure): Comparison['ours'] => ({ name: 'node', measure })
  const appending = (inFlight: number, count: number, ratio: number): Comparison => ({
    name: `appends, ${inFlight} in flight`,
    unit: 'per second',
    ours: ours(appendRate(empty, count, inFlight)),
    other: other(appendRate(real, count, inFlight)),
    goal: { kind: 'at-least', ratio },
  })
  const readers = { '`readAll`': readAll, '`subscribeToAll`': subscribeToAll }
  const readings = Object.entries(readers).map(([name, read]): Comparison => ({
    name,
    unit: 'events per second',
    ours: ours(() => read(full, reading)),
    other: other(() => read(real, reading)),
    goal: { kind: 'at-least', ratio: 1 },
  }))
  return [appending(1, appends / 10, 1.5), appending(64, appends, 1.1), appending(MOST_IN_FLIGHT, appends, 1), ...readings]
}

function appendRate(url: string, count: number, inFlight: number): Measure {
  return async () => (count * 1000) / (await append(url, count, inFlight)).all
}

function appendMedian(url: string, count: number): Measure {
  return async () => median((await append(url, count, 1)).each)
}
