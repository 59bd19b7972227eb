import type { Pool, PoolClient } from 'pg'
import { v5 } from 'uuid'
import { execute } from '../../engine/commands/execute.ts'
import { skipEvent } from '../../commands/projections/skip-event.ts'
import { OperatorLocks } from '../../engine/rebuild/operator-locks.ts'
import { copyNames } from '../../engine/rebuild/copies.ts'
import { requestResume } from '../../engine/rebuild/resume.ts'
import type { ProjectionFailure } from '../../engine/projections/checkpoints.ts'
import { projections } from '../../streams/projection/aggregate.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { formatPosition, type Position } from '../../platform/kit/positions.ts'
import { limited } from '../../platform/kit/time-limits.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { operatorAccount } from '../operator-account.ts'
import { becomeOf, type CommandReport } from './going-on.ts'
import { projectorNamed, readProjector, type ShownProjector } from './known-projectors.ts'

export interface Skip {
  readonly name: string
  readonly position: Position
  readonly reason: string
  /** Who skips it. Default: the account of the operating system. */
  readonly by?: string
}

/** How long the failed row stays locked while the event store records the skip, in milliseconds. */
const recordMs = 2_000
/** Namespace of the commands that skip an event. */
const commands = '5a0f2f0e-6f2b-5d0a-9c55-0d3a2c6b7e11'

/**
 * Lets a projector skip the event at which it failed, and no other. A repeat of the command changes nothing. If
 * decisions use its rows, no event may be skipped.
 * @throws RebuildRefusedError while another command works on its copies
 */
export async function skipFailedEvent(
  pool: Pool,
  eventStore: EventStore,
  { name, position, reason, by = operatorAccount() }: Skip,
): Promise<CommandReport> {
  if (projectorNamed(name).decisive === true) {
    return {
      text: `${name} skips nothing: decisions depend on its rows. Fix the program, then: projections retry ${name}`,
      isDone: false,
    }
  }
  const place = formatPosition(position)
  const isSkipped = (await skippedIn(eventStore)(name)).has(place)
  const locks = await OperatorLocks.open({ pool })
  try {
    await locks.take(name)
    const passed = await inTransaction(pool, async (client) => {
      const failed = await lockedFailure(client, name, position)
      if (failed === undefined) return undefined
      // No instance can process the event while the skip is recorded. Waiters for the row's lock wait only briefly.
      await limited(recordMs, record(eventStore, { name, position, reason, by }, failed))
      return { failed, resumed: await requestResume(client, name) }
    })
    if (passed === undefined) {
      return isSkipped
        ? { text: `${name} skips ${place} already`, isDone: true }
        : { text: `${name} has not failed at ${place}: ${whereabouts(await readProjector(pool, name))}`, isDone: false }
    }
    const { failed, resumed } = passed
    const first = `${name} skips ${failed.eventType} ${failed.eventId} at ${place}, now and at every rebuild`
    if (resumed === undefined) return { text: first, isDone: true }
    await locks.close()
    const { text, isDone } = await becomeOf(pool, name, resumed)
    return { text: `${first}\n${text}`, isDone }
  } finally {
    await locks.close()
  }
}

type FailedEvent = Pick<ProjectionFailure, 'eventId' | 'eventType'>

/**
 * The failure at this position, with its row locked: of the serving copy, or of the copy that a newer version could not
 * fill.
 */
async function lockedFailure(
  client: PoolClient,
  name: string,
  { commit, prepare }: Position,
): Promise<FailedEvent | undefined> {
  const { rows } = await client.query<FailedEvent>(
    `select p.failed_event_id as "eventId", p.failed_event_type as "eventType" from runtime.projectors p
     where p.status = 'failed' and p.failed_commit = $3::numeric and p.failed_prepare = $4::numeric
       and (p.name = $1 or (p.name = $2 and p.version > (select x.version from runtime.projectors x where x.name = $1)))
     order by p.name for update of p`,
    [name, copyNames(name).next, commit.toString(), prepare.toString()],
  )
  return rows[0]
}

async function record(
  eventStore: EventStore,
  { name, position, reason, by }: Required<Skip>,
  { eventId, eventType }: FailedEvent,
): Promise<void> {
  const command = {
    projector: name,
    commitPosition: position.commit.toString(),
    preparePosition: position.prepare.toString(),
    eventId,
    eventType,
    reason,
    skippedBy: by,
    now: new Date(),
  }
  const commandId = v5(`skip ${name} ${formatPosition(position)}`, commands)
  const target = projections.of(name)
  await execute(eventStore, target, (state) => skipEvent(command, state), {
    commandId,
    correlationId: commandId,
    process: 'projections',
  })
}

function whereabouts({ status, position, failure }: ShownProjector): string {
  if (failure !== undefined && status === 'failed')
    return `it failed at ${failure.position} (${failure.eventType} ${failure.eventId})`
  return status === 'unseen' ? 'it has never run' : `it is ${status}, at ${position}`
}

/** Positions of the events that operators let a projector skip, as `formatPosition` writes them. */
export function skippedIn(eventStore: Pick<EventStore, 'load'>): (projector: string) => Promise<ReadonlySet<string>> {
  return async (projector) => {
    const { state } = await eventStore.load(projections.of(projector))
    const skipped = state.status === 'complete' ? [] : state.skipped
    return new Set(
      skipped.map(({ commitPosition, preparePosition }) =>
        formatPosition({ commit: BigInt(commitPosition), prepare: BigInt(preparePosition) }),
      ),
    )
  }
}
