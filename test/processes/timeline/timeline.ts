import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../../platform/database/database.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { channels, processes } from '../../../processes/registry.ts'
import { createRelay } from '../../../engine/relay/relay.ts'
import { bindProcess } from '../../../engine/processes/process.ts'
import { Claims } from '../../../engine/processes/claims.ts'
import { Workers } from '../../../engine/processes/workers.ts'
import { aiReviewsProjector } from '../../../projections/ai-review/ai-reviews.projector.ts'
import { assessmentsProjector } from '../../../projections/assessments/assessments.projector.ts'
import { casesProjector } from '../../../projections/clinical/cases.projector.ts'
import type { Projector } from '../../../engine/projections/projector.ts'
import { readCheckpoints } from '../../../engine/projections/checkpoints.ts'
import { requestResume } from '../../../engine/rebuild/resume.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { comparePositions, type Position } from '../../../platform/kit/positions.ts'
import { silentLogger } from '../../engine/projections/tickets.ts'
import type { ProcessWorld } from '../../support/process-world.ts'
import { stopProjector } from '../../support/stopped-projectors.ts'

export interface TimelineOptions {
  readonly deps?: ProcessDependencies
  /** The delay after the due time of a row until a worker takes it, in milliseconds. Default 0. */
  readonly lateMs?: () => number
  /** Those of which tests ask by default: reviews, assessments and cases. All would take most of the time of a file. */
  readonly readModels?: readonly Projector[]
  /** A read model or list that is stopped until `resume`. */
  readonly stopped?: readonly string[]
}

/** All relays, to-do lists and workers of a world, and read models. Their clock is the world's. */
export interface Timeline {
  readonly pool: Pool
  /** Runs the steps that are due now, and those that become due, until none is left. */
  runUntilIdle(): Promise<void>
  /** Goes from one due instant to the next, idle at each, and ends `seconds` from now. */
  runFor(seconds: number): Promise<void>
  /** The same until no row is left; at most `seconds`. */
  runOut(seconds: number): Promise<void>
  resume(projector: string): Promise<void>
  close(): Promise<void>
}

const idleLimitMs = 30_000
const usualReadModels: readonly Projector[] = [aiReviewsProjector, assessmentsProjector, casesProjector]

/**
 * Needs a world with its own node and database. Moves the clock of the world past the present. The node dates events by its
 * own clock.
 */
export async function openTimeline(
  world: ProcessWorld,
  pool: Pool,
  { deps = world.deps, lateMs = () => 0, readModels = usualReadModels, stopped = [] }: TimelineOptions = {},
): Promise<Timeline> {
  const ahead = Date.now() + 3_600_000 - world.now().getTime()
  if (ahead > 0) world.pass(ahead / 1000)
  const { store } = world
  const filter = { streamPrefixes: projectedStreams }
  const projectors = [...readModels, ...processes.map(({ list }) => list)]
  const runner = new ProjectionRunner({
    eventStore: store,
    pool,
    projectors,
    filter,
    logger: silentLogger,
    heartbeatMs: 1_000,
  })
  runner.start()
  await runner.caughtUp()
  for (const name of stopped) await stopProjector(runner, pool, name)
  const relays = channels.map((channel) => ({
    sources: channel.sources,
    relay: createRelay({ eventStore: store, channel, logger: silentLogger, deps }),
  }))
  for (const { relay } of relays) relay.start()
  const bound = processes.map((process) => bindProcess(process, deps))
  const workers = new Workers({
    eventStore: store,
    pool,
    processes: bound,
    filter,
    logger: silentLogger,
    runner,
    now: world.now,
    pollMs: 100,
    random: deps.random,
  })
  workers.start()
  const halted = new Set(stopped)
  const desks = bound.map((process) => ({
    name: process.name,
    list: process.list.name,
    claims: new Claims(pool, process, { id: 'timeline' }),
  }))

  let seen: Position | undefined
  let wanted: readonly Position[] = []

  async function hasWork(): Promise<boolean> {
    const running = desks.filter(({ list }) => !halted.has(list))
    return (await openWork(running, pool, world.now())) > 0
  }

  /** True if every event is read and no due step is left. */
  async function isIdle(): Promise<boolean> {
    // While steps run, this saves the questions to the event store.
    if (await hasWork()) return false
    const head = await store.head(filter)
    // The projections read all relayed events. A search for them could read the whole log.
    if (seen === undefined || comparePositions(seen, head) !== 0)
      wanted = await Promise.all(relays.map(({ sources }) => store.head({ streamPrefixes: sources })))
    seen = head
    if (relays.some(({ relay }, place) => !hasReached(relay.status().position, wanted[place] ?? head))) return false
    const running = projectors.map(({ name }) => name).filter((name) => !halted.has(name))
    const checkpoints = await readCheckpoints(pool, running)
    if (running.some((name) => !hasReached(checkpoints.get(name)?.position, head))) return false
    if (await hasWork()) return false
    return comparePositions(await store.head(filter), head) === 0
  }

  async function runUntilIdle(): Promise<void> {
    workers.wake()
    const deadline = performance.now() + idleLimitMs
    while (!(await isIdle())) {
      if (performance.now() > deadline)
        throw new Error(`is not idle at ${world.now().toISOString()}: ${JSON.stringify(await rowsOf(desks, pool))}`)
      await sleep(5)
    }
  }

  async function nextDue(): Promise<number | undefined> {
    const dues = await Promise.all(desks.map(({ claims }) => claims.nextDue(world.now())))
    const instants = dues.flatMap((due) => (due === undefined ? [] : [due.getTime()]))
    return instants.length === 0 ? undefined : Math.min(...instants) + lateMs()
  }

  async function run(seconds: number, isCutShort: boolean): Promise<void> {
    const end = world.now().getTime() + seconds * 1000
    for (;;) {
      await runUntilIdle()
      const next = await nextDue()
      if (next === undefined && isCutShort) return
      const to = Math.min(next ?? end, end)
      if (to <= world.now().getTime()) return
      world.pass((to - world.now().getTime()) / 1000)
    }
  }

  return {
    pool,
    runUntilIdle,
    runFor: (seconds) => run(seconds, false),
    runOut: (seconds) => run(seconds, true),
    resume: async (projector) => {
      halted.delete(projector)
      await requestResume(pool, projector)
    },
    close: async () => {
      await workers.close(200)
      await Promise.all(relays.map(({ relay }) => relay.close()))
      await runner.close()
    },
  }
}

function hasReached(position: Position | undefined, wanted: Position): boolean {
  return comparePositions(position ?? { commit: 0n, prepare: 0n }, wanted) >= 0
}

interface ProcessWorker {
  readonly name: string
  readonly list: string
}

/** Rows that are due, or whose steps run. One statement, because it is asked at every look. */
async function openWork(desks: readonly ProcessWorker[], pool: Pool, now: Date): Promise<number> {
  const counts = desks.map(
    ({ list }, index) =>
      `(select count(*) from ${list}.todo t left join runtime.claims c on c.process = $${index + 2} and c.key = t.key and c.step = t.step
          where t.due_at <= $1 and (c.key is null or c.not_before <= $1))
        + (select count(*) from runtime.claims c where c.process = $${index + 2} and c.lease_until > $1)`,
  )
  const values = [now, ...desks.map(({ name }) => name)]
  const { rows } = await pool.query<{ count: number }>(`select (${['0', ...counts].join(' + ')})::int as count`, values)
  return rows[0]?.count ?? 0
}

async function rowsOf(desks: readonly ProcessWorker[], pool: Pool): Promise<unknown[]> {
  const found: unknown[] = []
  for (const { list } of desks) found.push(...(await pool.query(`select key, step, due_at from ${list}.todo`)).rows)
  return found
}
