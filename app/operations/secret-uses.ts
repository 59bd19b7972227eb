import type { EventStore } from '../../engine/store/event-store.ts'
import type { SecretUse } from '../../platform/http/access.ts'
import { newId } from '../../platform/kit/new-id.ts'
import { recordAction } from './record-action.ts'

interface Minute {
  readonly actionId: string
  readonly minute: number
  readonly at: string
  count: number
  /** The append that has not begun yet. It will have the number of then. */
  next: Promise<void> | undefined
}

/**
 * Records each use of the administrator secret. Uses of one route within a minute are one action, with their number. The
 * appends are in the order of the uses, because the newest event of an action has its number. Uses that wait share an append:
 * while the store is away, each append takes its whole time limit.
 */
export function recordSecretUses(store: EventStore, now: () => Date): (use: SecretUse) => Promise<void> {
  // One entry for each route that takes the secret.
  const minutes = new Map<string, Minute>()
  let before: Promise<unknown> = Promise.resolve()

  return ({ route, correlationId }) => {
    const at = now()
    const minute = Math.floor(at.getTime() / 60_000)
    const known = minutes.get(route)
    const current: Minute =
      known?.minute === minute ? known : { actionId: newId(), minute, at: at.toISOString(), count: 0, next: undefined }
    minutes.set(route, current)
    current.count += 1
    if (current.next !== undefined) return current.next
    const recorded = before.then(() => record(route, current, correlationId))
    current.next = recorded
    before = recorded.catch(() => undefined)
    return recorded
  }

  async function record(route: string, minute: Minute, correlationId: string): Promise<void> {
    minute.next = undefined
    const { actionId, count, at } = minute
    const action = {
      actionId,
      action: 'administrator_secret.use',
      actor: { kind: 'bootstrap', id: null },
      subject: { kind: 'route', id: route },
      reason: null,
      count,
      retried: null,
      projection: null,
      at,
    } as const
    await recordAction(store, action, { commandId: newId(), correlationId, clientId: 'bootstrap' })
  }
}
