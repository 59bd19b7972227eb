import type { JWK } from 'jose'
import type { Configuration } from '../configuration/configuration.ts'
import { readActorContext, readSelectedActor, type ActorContext, type SelectedActor } from './actor-context.ts'
import { createSignedActorContexts } from './signed-actor-context.ts'

/** Reads X-Actor-Context in the active mode. */
export interface ActorReader {
  /** What the header selects. Throws Problem `actor-context-invalid`. */
  selected(header: string): SelectedActor
  /** The actor with its permissions. Rejects with a problem. Called after the organisation was checked. */
  read(header: string, selected: SelectedActor): Promise<ActorContext>
}

export interface ActorReaderOptions {
  readonly configuration: Pick<Configuration, 'actorContextMode' | 'actorContextKeys'>
  readonly now: () => Date
  /** Public keys of the contexts that the platform signs. */
  readonly ownKeys: () => Promise<readonly JWK[]>
  /** The present permissions of a user in an organisation. */
  readonly resolve: (selected: SelectedActor) => Promise<ActorContext>
}

/**
 * - `trust`: the claims, whoever signed them;
 * - `signed`: the claims, if a key of ACTOR_CONTEXT_JWKS signed them, or else one of our own;
 * - `resolve`: only the user and the organisation of the claims. The platform knows the rest.
 */
export function createActorReader({ configuration, now, ownKeys, resolve }: ActorReaderOptions): ActorReader {
  const { actorContextMode: mode, actorContextKeys: keys } = configuration
  if (mode === 'resolve') return { selected: readSelectedActor, read: async (_header, selected) => resolve(selected) }
  const verify = createSignedActorContexts(keys === undefined ? ownKeys : async () => keys, now)
  return {
    selected: readSelectedActor,
    read: async (header) => (mode === 'signed' ? verify(header) : readActorContext(header)),
  }
}
