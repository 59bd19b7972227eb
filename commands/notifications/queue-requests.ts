import { v5 } from 'uuid'
import type { Position } from '../../platform/kit/positions.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import { latest } from '../../platform/http/replies.ts'
import {
  isNotification,
  notifications,
  patientOf,
  type NotificationState,
} from '../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../streams/notification/events.ts'
import type {
  NotificationQueueRequest,
  NotificationQueueRequestState,
} from '../../streams/notification-queue-request/aggregate.ts'
import type { NotificationQueueRequestEvent } from '../../streams/notification-queue-request/events.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { repeated, type Decision } from '../../engine/commands/decision.ts'
import { execute } from '../../engine/commands/execute.ts'

export interface AnswerQueueRequest extends Omit<NotificationQueueRequest, 'answeredAt'> {
  readonly now: Date
}

/** Records the answer to a request about several notifications. A repeat finds it. */
export function answerQueueRequest(
  { now, ...answer }: AnswerQueueRequest,
  state: NotificationQueueRequestState,
): Decision<NotificationQueueRequestEvent, 'idempotency-key-reused'> {
  if (state.status !== 'absent') return repeated(answer, state)
  return [{ type: 'NotificationQueueRequestAnswered', data: { ...answer, answeredAt: now.toISOString() } }]
}

/** The oldest that match, up to a limit, and the number of all. */
export interface FoundNotifications {
  readonly ids: readonly string[]
  readonly total: number
}

export interface Requeued {
  readonly ids: readonly string[]
  readonly position: Position | undefined
}

/** Streams at a time. */
const atOnce = 20

type Decide = (state: NotificationState) => readonly NotificationEvent[]
type Dependencies = Pick<CommandDependencies, 'store' | 'vault'>

/**
 * Decides on each notification separately. A notification that changed since it was listed stays as it is, and so does
 * one about a patient whose erasure has begun. After a crash a repeat of the request continues: notifications that are
 * already queued are neither stuck nor failed any more, so it finds the others only.
 */
export async function requeueEach(
  { store, vault }: Dependencies,
  tenant: TenantId,
  ids: readonly string[],
  decideEach: Decide,
  context: CommandContext,
): Promise<Requeued> {
  const decide = unlessErased(vault, tenant, decideEach)
  const done = await forEachOf(ids, async (id) => {
    const command = { ...context, commandId: v5(id, context.commandId) }
    const { state, events, position } = await execute(store, notifications.of(tenant, id), decide, command)
    return { id, isQueued: events.length > 0 && state.status === 'queued', position }
  })
  return { ids: queuedOf(done), position: latest(...done.map(({ position }) => position)) }
}

/** The ids that `requeueEach` would return. */
export async function wouldRequeue(
  { store, vault }: Dependencies,
  tenant: TenantId,
  ids: readonly string[],
  decideEach: Decide,
): Promise<readonly string[]> {
  const decide = unlessErased(vault, tenant, decideEach)
  const decided = await forEachOf(ids, async (id) => {
    const { state } = await store.load(notifications.of(tenant, id))
    const events = decide(state)
    return { id, isQueued: events.length > 0 && events.reduce(notifications.evolve, state).status === 'queued' }
  })
  return queuedOf(decided)
}

/** The erasure ends notifications about its patient, and every append about this patient is refused. */
function unlessErased(vault: Dependencies['vault'], tenant: TenantId, decide: Decide): Decide {
  return (state) => {
    const patientId = isNotification(state) ? patientOf(state) : null
    return patientId !== null && vault.isClosed(tenant, patientId) ? [] : decide(state)
  }
}

function queuedOf(decided: readonly { readonly id: string; readonly isQueued: boolean }[]): readonly string[] {
  return decided.flatMap(({ id, isQueued }) => (isQueued ? [id] : []))
}

async function forEachOf<Result>(ids: readonly string[], work: (id: string) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let from = 0; from < ids.length; from += atOnce)
    results.push(...(await Promise.all(ids.slice(from, from + atOnce).map(work))))
  return results
}
