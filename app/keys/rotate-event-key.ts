import { v7 } from 'uuid'
import { execute } from '../../engine/commands/execute.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { eventKeys, type EventKeyState } from '../../streams/event-key/aggregate.ts'
import type { EventKeyEvent } from '../../streams/event-key/events.ts'
import { operatorAccount } from '../operator-account.ts'

/**
 * Gives events another key to be signed with. The key is in the vault before the event: a process that reads the event,
 * or one that the new key signed, finds it there. The older keys end at the place of the event, which no process signs
 * with them any more by a minute later. A repeat completes what was cut off.
 */
export async function rotateEventKey(
  { store, vault }: { readonly store: EventStore; readonly vault: Vault },
  now: Date,
): Promise<string> {
  const key = await vault.rotateEventKey()
  await store.refreshEventKeys()
  const target = eventKeys.of(key)
  const data = { key, rotatedBy: operatorAccount(), rotatedAt: now.toISOString() }
  const decide = ({ isRotated }: EventKeyState): EventKeyEvent[] =>
    isRotated ? [] : [{ type: 'EventKeyRotated', data }]
  await execute(store, target, decide, { commandId: v7(), correlationId: v7(), process: 'keys' })
  const event = await store.readAt(target.stream, 0n)
  if (event === undefined) throw new Error(`the event of the key ${key} cannot be read back`)
  await vault.endOlderEventKeys({ position: event.position, at: new Date(event.recordedAt) })
  return key
}
