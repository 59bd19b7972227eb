import { userInfo } from 'node:os'
import type { Pool } from 'pg'
import { v5 } from 'uuid'
import { execute } from '../../../commands/handling/execute.ts'
import { skipEvent } from '../../../commands/projections/skip-event.ts'
import { projectionFold } from '../../../streams/projection/state.ts'
import { projectionStream } from '../../../streams/projection/stream.ts'
import type { EventStore } from '../../../streams/store/event-store.ts'
import { formatPosition, type Position } from '../../../streams/store/positions.ts'
import { retryProjector, type Told } from './going-on.ts'
import { projectorNamed } from './known-projectors.ts'
import { skippedIn } from './skips.ts'
import { readProjector, type ShownProjector } from './stored-projectors.ts'

export interface Skip {
  readonly name: string
  readonly position: Position
  readonly reason: string
}

/** Namespace of the commands that skip an event. */
const commands = '5a0f2f0e-6f2b-5d0a-9c55-0d3a2c6b7e11'

/**
 * Lets a projector pass over the event at which it stands, and only over that one: it must have failed there. The same
 * order again is done already. Where decisions are taken on the rows, none may be missing.
 */
export async function skipFailedEvent(pool: Pool, eventStore: EventStore, { name, position, reason }: Skip): Promise<Told> {
  if (projectorNamed(name).decisive === true) {
    return { text: `${name} passes over nothing: decisions are taken on what it holds. Mend the program, then: projections retry ${name}`, isDone: false }
  }
  const place = formatPosition(position)
  const projector = await readProjector(pool, name)
  const failures = [projector.failure, ...projector.copies.map((copy) => copy.failure)]
  const failure = failures.find((one) => one?.position === place)
  if (failure === undefined) {
    const isSkipped = (await skippedIn(eventStore)(name)).has(place)
    return isSkipped
      ? { text: `${name} passes over ${place} already`, isDone: true }
      : { text: `${name} has not failed at ${place}: ${whereabouts(projector)}`, isDone: false }
  }
  const { eventId, eventType } = failure
  const command = {
    projector: name,
    commitPosition: position.commit.toString(),
    preparePosition: position.prepare.toString(),
    eventId,
    eventType,
    reason,
    skippedBy: operator(),
    now: new Date(),
  }
  const commandId = v5(`skip ${name} ${place}`, commands)
  const target = { fold: projectionFold, stream: projectionStream(name) }
  await execute(eventStore, target, (state) => skipEvent(command, state), { commandId, correlationId: commandId })
  const { text, isDone } = await retryProjector(pool, name)
  return { text: `${name} passes over ${eventType} ${eventId} at ${place}, now and at every rebuild\n${text}`, isDone }
}

function whereabouts({ status, position, failure }: ShownProjector): string {
  if (failure !== undefined && status === 'failed') return `it failed at ${failure.position} (${failure.eventType} ${failure.eventId})`
  return status === 'unseen' ? 'it has never run' : `it is ${status}, at ${position}`
}

/** Where the system has no name for its user, as in a container of any user id, the number tells. */
function operator(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
