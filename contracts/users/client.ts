import type { ActorContext, SelectedActor } from '../../platform/http/actor-context.ts'
import { problem } from '../../platform/http/problems.ts'
import { usersChannelStream } from '../../streams/channels/users.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { openEvictingCache, type EvictingCacheOptions } from '../../engine/reads/evicting-cache.ts'

export type ContextAnswer =
  | { readonly kind: 'actor'; readonly actor: ActorContext }
  | { readonly kind: 'refused'; readonly code: 'actor-context-invalid' | 'user-not-active' }
  /** No answer, or none that includes everything recorded before the question. */
  | { readonly kind: 'unavailable' }

/** Asks the users service. The answer must include everything recorded before the question, or be `unavailable`. */
export type AskContext = (selected: SelectedActor) => Promise<ContextAnswer>

export interface ContextClientOptions extends Pick<EvictingCacheOptions<ContextAnswer>, 'events' | 'now'> {
  readonly ask: AskContext
  /** The users service runs elsewhere. Without a live subscription, no permission is given then. */
  readonly isRemote: boolean
}

export interface ContextClient {
  /** @throws Problem `actor-context-invalid`, `user-not-active`, `actor-context-unavailable` */
  resolve(selected: SelectedActor): Promise<ActorContext>
  close(): Promise<void>
}

/**
 * Resolves a user and an organisation to the actor's present permissions. Each event on `users.events` removes what is
 * kept of its user, and an event of a role removes everything. If the answer may be outdated, there is no permission.
 *
 * Rejects if the event store cannot be read.
 */
export async function openContextClient({ ask, isRemote, events, now }: ContextClientOptions): Promise<ContextClient> {
  const cache = await openEvictingCache<ContextAnswer>({
    name: 'users client',
    channel: usersChannelStream.name,
    groupOf: userOf,
    // Refusals come from few callers, and an event that ends one need not name the user.
    isKept: ({ kind }) => kind === 'actor',
    events,
    now,
  })
  return {
    async resolve(selected) {
      if (isRemote && !cache.isListening()) throw problem('actor-context-unavailable')
      const answer = await cache.get(selected.userId.toLowerCase(), selected.orgId, () => ask(selected))
      if (answer.kind === 'actor') return answer.actor
      throw problem(answer.kind === 'refused' ? answer.code : 'actor-context-unavailable')
    },
    close: () => cache.close(),
  }
}

function userOf({ data }: RecordedEvent): string | undefined {
  if (typeof data !== 'object' || data === null || !('userId' in data)) return undefined
  return typeof data.userId === 'string' ? data.userId.toLowerCase() : undefined
}
