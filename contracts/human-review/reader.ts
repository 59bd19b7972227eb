import type { Caller } from '../../platform/http/access.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { problem } from '../../platform/http/problems.ts'
import type { TaskReader } from './record.ts'

export const decidePermission = 'human-review:decide'

/** @throws Problem `actor-context-invalid` for an actor whose id cannot be recorded in the clear */
export function requireUserId({ actor }: Caller): string {
  if (actor === null || !isUuid(actor.userId))
    throw problem('actor-context-invalid', { detail: 'The user_id of the actor must be a UUID here.' })
  return actor.userId.toLowerCase()
}

export function taskReaderOf({ actor }: Caller, now: Date): TaskReader {
  return {
    userId: actor?.userId.toLowerCase() ?? null,
    mayReadNotes: actor?.permissions.has(decidePermission) === true,
    now,
  }
}

/** The products whose tasks the caller sees. Null: those of every product, because the request has no actor. */
export function productsSeenBy({ actor }: Caller): readonly string[] | null {
  return actor?.productIds.map((id) => id.toLowerCase()).filter(isUuid) ?? null
}
