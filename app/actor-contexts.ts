import { openContextClient } from '../contracts/users/client.ts'
import { createActorContexts } from '../processes/adapters/actor-contexts.ts'
import { createPlatformToken } from '../processes/adapters/platform-token.ts'
import { createActorLookup } from '../read-api/users/actor-lookup.ts'
import type { ReadDependencies } from '../engine/reads/read-route.ts'
import type { EventStore } from '../engine/store/event-store.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { createActorReader, type ActorReader } from '../platform/http/actor-readers.ts'
import { problem } from '../platform/http/problems.ts'
import type { GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import type { Egress } from '../platform/outbound/egress.ts'
import type { Vault } from '../platform/vault/vault.ts'

export interface ActorContextsOptions extends Pick<ReadDependencies, 'pool' | 'isCurrent'> {
  readonly configuration: Configuration
  readonly store: EventStore
  readonly vault: Pick<Vault, 'publicKeys'>
  readonly now: () => Date
  /** Undefined if no API runs here. */
  readonly egress: Egress | undefined
  readonly stop: GracefulStop
}

/** The reader of X-Actor-Context in the configured mode. */
export async function openActorReader(options: ActorContextsOptions): Promise<ActorReader> {
  const { configuration, vault, now, store, egress, stop } = options
  const common = { configuration, now, ownKeys: () => vault.publicKeys('actor-context') }
  if (configuration.actorContextMode !== 'resolve' || egress === undefined)
    return createActorReader({ ...common, resolve: () => Promise.reject(problem('actor-context-unavailable')) })
  const { usersBaseUrl } = configuration
  const ask =
    usersBaseUrl === undefined
      ? createActorLookup(options)
      : createActorContexts({ egress, token: createPlatformToken(egress, configuration, now) }, usersBaseUrl)
  const client = await openContextClient({ ask, isRemote: usersBaseUrl !== undefined, events: store, now })
  stop.onStop('work', 'actor contexts', () => client.close())
  return createActorReader({ ...common, resolve: (selected) => client.resolve(selected) })
}
