import { v5 } from 'uuid'
import type { Position } from '../../platform/kit/positions.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import { latest } from '../../platform/http/replies.ts'
import { notifications, type NotificationState } from '../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../streams/notification/events.ts'
import type {
  NotificationQueueRequest,
  NotificationQueueRequestState,
} from '../../streams/notification-queue-request/aggregate.ts'
import type { NotificationQueueRequestEvent } from '../../streams/notification-queue-request/events.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { repeated, type Decision } from '../handling/decision.ts'
import { execute } from '../handling/execute.ts'

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

/** Appends at a time. */
const atOnce = 20

/**
 * Decides on each notification alone. One that changed since it was listed is left as it is. After a crash the repeat
 * of the request finds the rest, because what was queued is neither stuck nor failed any more.
 */
export async function requeueEach(
  { store }: Pick<CommandDependencies, 'store'>,
  tenant: TenantId,
  ids: readonly string[],
  decide: (state: NotificationState) => readonly NotificationEvent[],
  context: CommandContext,
): Promise<Requeued> {
  const requeued: string[] = []
  let position: Position | undefined
  for (let from = 0; from < ids.length; from += atOnce) {
    const batch = ids.slice(from, from + atOnce)
    const done = await Promise.all(
      batch.map((id) =>
        execute(store, notifications.of(tenant, id), decide, { ...context, commandId: v5(id, context.commandId) }),
      ),
    )
    requeued.push(
      ...batch.filter((_, index) => done[index]?.state.status === 'queued' && done[index].events.length > 0),
    )
    position = latest(position, ...done.map((one) => one.position))
  }
  return { ids: requeued, position }
}
