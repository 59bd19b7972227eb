import { createHash } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/schema'
import { v5, v7 } from 'uuid'
import { atFirstUse } from '../../platform/kit/at-first-use.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type { RecordedEvent } from '../store/events.ts'

/** The event that makes a step due. The payload of every to-do row contains it. */
const Cause = Type.Object({
  eventId: Type.String(),
  correlationId: Type.String(),
  /** W3C Trace Context of the request behind the event. Absent if no request caused it. */
  traceparent: Type.Optional(Type.String()),
})
export type Cause = Readonly<Static<typeof Cause>>

export function causeOf({
  id,
  metadata: { $correlationId, traceparent },
}: Pick<RecordedEvent, 'id' | 'metadata'>): Cause {
  return { eventId: id, correlationId: $correlationId, ...(traceparent === undefined ? {} : { traceparent }) }
}

const caused = atFirstUse(() => Compile(Type.Object({ cause: Cause })))

/** The cause of a row; undefined if it has none. */
export function causeIn(payload: unknown): Cause | undefined {
  return caused().Check(payload) ? payload.cause : undefined
}

/** Name space of steps. Never changed: the events of a repeated step must keep their ids. */
const steps = '6f0c1d52-8f0b-5f39-8c55-0d3b6b1f7a11'

interface RunningStep extends Cause {
  /** The actor of the events of the step. */
  readonly process: string
  readonly orgId?: string | undefined
}

interface StepCause extends RunningStep {
  /** `<process>.<step>`, or a finer name if a step appends several times. */
  readonly name: string
  /** The record of the row. Set if one event makes a step due for several records, because each append needs its own id. */
  readonly key?: string | undefined
}

/**
 * The command of a step that only appends. Its id follows from its cause, and its instant comes from the row. So a step
 * that runs again appends the same bytes, and the server answers success to known ids without a comparison of data.
 */
export function stepCommand({ name, key, ...step }: StepCause): CommandContext {
  const cause = key === undefined ? step.eventId : `${step.eventId} ${key}`
  return commandOf(v5(`${name} ${cause}`, steps), step)
}

/**
 * The command that opens an attempt. Its id is new on each run. With a derived id, two workers would both get success
 * for their append, and both would call. With new ids at one revision, only one append succeeds.
 */
export function attemptCommand(step: RunningStep): CommandContext {
  return commandOf(v7(), step)
}

function commandOf(
  commandId: string,
  { process, orgId, eventId, correlationId, traceparent }: RunningStep,
): CommandContext {
  return { commandId, correlationId, causationId: eventId, orgId, process, traceparent }
}

/** The command that records the outcome of an attempt. Its id follows from the attempt, so a repeat appends nothing. */
export function outcomeCommand(attempt: CommandContext): CommandContext {
  return { ...attempt, commandId: v5('outcome', attempt.commandId), causationId: attempt.commandId }
}

/** A UUID v7 that follows from its cause: its instant, then a hash of the name. A step that runs twice gets the same id. */
export function derivedV7(name: string, at: Date): string {
  const random = new Uint8Array(createHash('sha256').update(name).digest().subarray(0, 16))
  return v7({ msecs: at.getTime(), random })
}
