import { v5 } from 'uuid'
import type { CommandContext } from '../../platform/kit/command-context.ts'

/** Name space of steps. Never changed: what a repeated step appends must keep its ids. */
const steps = '6f0c1d52-8f0b-5f39-8c55-0d3b6b1f7a11'

export interface StepCause {
  /** `<process>.<step>` or a finer name, when one cause leads to several appends. */
  readonly name: string
  /** Id of the event that makes the step due: the same event leads to the same command. */
  readonly eventId: string
  /** Whose step it is, where one event makes it due for several: else they would append different facts under one id. */
  readonly key?: string
  readonly correlationId: string
  readonly orgId?: string | undefined
}

/** Who appends what a step finds out, and why. Appending it twice is appending it once. */
export function stepCommand({ name, eventId, key, correlationId, orgId }: StepCause): CommandContext {
  const step = key === undefined ? `${name} ${eventId}` : `${name} ${eventId} ${key}`
  return { commandId: v5(step, steps), correlationId, causationId: eventId, orgId }
}
