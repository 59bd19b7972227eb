import { v5, v7 } from 'uuid'
import type { RecordedEvent } from '../../streams/store/events.ts'
import type { CommandContext } from '../../platform/kit/command-context.ts'
import type { Todo } from './process.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'

/** What made a step due; stands in the payload of every to-do row. */
export interface Cause {
  readonly eventId: string
  readonly correlationId: string
}

export interface CausedPayload {
  readonly cause: Cause
}

export function causeOf({ id, metadata }: Pick<RecordedEvent, 'id' | 'metadata'>): Cause {
  return { eventId: id, correlationId: metadata.$correlationId }
}

export function readCause(todo: Todo): Cause {
  return (todo.payload as CausedPayload).cause
}

/**
 * Steps that only append derive their command from their cause (`stepCommand`) and take their instant from the row, so
 * that whoever runs one again appends the very same bytes: the server answers success to known ids without comparing data.
 *
 * The command that begins an attempt at something outside. Unlike other steps its id is not derived from its cause:
 * two workers with one id would both be told that their append stands, and both would call. New ids at one revision
 * let one of them through.
 */
export function attemptCommand(orgId: TenantId, { eventId, correlationId }: Cause): CommandContext {
  return { commandId: v7(), correlationId, causationId: eventId, orgId }
}

/** The command that records what an attempt came to: one per attempt, however often it is appended. */
export function outcomeCommand(attempt: CommandContext): CommandContext {
  return { ...attempt, commandId: v5('outcome', attempt.commandId), causationId: attempt.commandId }
}

/** The organisation of a to-do row; every row of these lists has one. */
export function orgOf(todo: Todo): TenantId {
  if (todo.orgId === null) throw new Error(`a ${todo.step} step names no organisation`)
  return tenantOfFact(todo.orgId)
}
