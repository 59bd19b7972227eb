import type { Configuration, Environment } from '../platform/configuration/configuration.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import { listRejections, type RejectedEvent } from './rejected-events.ts'
import { catalogue } from '../streams/catalogue.ts'
import { logSeals } from '../streams/log-seals/aggregate.ts'
import type { RejectedEventsOrder } from './command-line.ts'
import { openServers } from './projections/servers.ts'

/** Our subscriptions select streams by these prefixes. An unsigned event in such a stream stops every projector. */
const ownPrefixes = catalogue.categories.map((category) =>
  category.endsWith('.events') || category === logSeals.category ? category : `${category}-`,
)

/**
 * A foreign channel must not be a stream of ours: others would write facts there without our signature.
 * @throws ConfigurationError
 */
export function requireForeignChannels({ foreignChannels }: Pick<Configuration, 'foreignChannels'>): void {
  const own = foreignChannels.find(({ name }) => ownPrefixes.some((prefix) => name.startsWith(prefix)))
  if (own !== undefined)
    throw new ConfigurationError(
      `FOREIGN_CHANNELS must not contain ${own.name}: streams with this beginning are the platform's own`,
    )
}

/** The skipped events of foreign channels, for an operator. */
export async function rejectedEvents(
  env: Environment,
  { channel }: RejectedEventsOrder,
): Promise<readonly RejectedEvent[]> {
  const servers = await openServers(env)
  try {
    return await listRejections(servers.pool, channel)
  } finally {
    await servers.close()
  }
}
