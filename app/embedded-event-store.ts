import { chmod, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { startEventStore, type EventStoreNode } from 'embedded-eventstore'
import { connectEventStore, type EventStoreConnection } from '../engine/store/connection.ts'
import { isJsonObject } from '../engine/store/events.ts'
import { mergeMetadata, readMetadata } from '../engine/store/stream-metadata.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { channelStreams } from '../streams/channels/channel-streams.ts'
import { requireForeignChannels } from './foreign-events.ts'

interface EventStoreSettings {
  readonly configuration: Pick<Configuration, 'dataDir' | 'eventStoreConsumers' | 'foreignChannels'>
  readonly port: number
  /** Of the platform's own account. */
  readonly password: string
}

const platformLogin = 'platform'
/** The group of all accounts of `EVENTSTORE_CONSUMERS`. So access lists stay the same when accounts come and go. */
const consumers = 'consumers'

const rights = ['$r', '$w', '$d', '$mr', '$mw'] as const
type AccessList = Readonly<Record<(typeof rights)[number], readonly string[]>>
const owners = ['$admins', platformLogin]
const ownersOnly: AccessList = { $r: owners, $w: owners, $d: owners, $mr: owners, $mw: owners }
const channelAcl: AccessList = { ...ownersOnly, $r: [...owners, consumers] }
/** Consumers cannot read what they write. The server follows a link (`$>`) to any stream, also for a reader without its rights. */
const foreignChannelAcl: AccessList = { ...ownersOnly, $w: [...owners, consumers] }

const searchableByOthers = 0o011

/** Starts the event store of this data folder: the account of the platform, and those of the consumers, who may read channels only. */
export async function startEmbeddedEventStore({
  configuration,
  port,
  password,
}: EventStoreSettings): Promise<EventStoreNode> {
  const { dataDir, eventStoreConsumers, foreignChannels } = configuration
  // Before consumers may write to them.
  requireForeignChannels(configuration)
  const hasConsumers = eventStoreConsumers.length > 0
  // Everything else in the folder has modes for the owner only.
  if (hasConsumers) await chmod(dataDir, ((await stat(dataDir)).mode & 0o777) | searchableByOthers)
  const node = await startEventStore({
    dataDir: join(dataDir, 'eventstore'),
    port,
    users: [
      { login: platformLogin, password, groups: ['$admins'] },
      ...eventStoreConsumers.map((consumer) => ({ ...consumer, groups: [consumers] })),
    ],
    settings: { $userStreamAcl: ownersOnly, $systemStreamAcl: ownersOnly },
    ...(hasConsumers ? { readableCertificate: join(dataDir, 'certificates', 'eventstore.pem') } : {}),
  })
  try {
    if (hasConsumers) await grant(node.url, foreignChannels)
  } catch (error) {
    await node.stop()
    throw error
  }
  return node
}

/** For processes that use the server of `ESDB_URL`. */
export function warnOfUnusedConsumers(
  { eventStoreConsumers }: Pick<Configuration, 'eventStoreConsumers'>,
  logger: Logger,
): void {
  const reason = 'EVENTSTORE_CONSUMERS has no effect: make these accounts on the server of ESDB_URL'
  if (eventStoreConsumers.length > 0) logger.warn({ component: 'configuration', reason }, 'configuration warning')
}

async function grant(url: string, foreignChannels: Configuration['foreignChannels']): Promise<void> {
  const connection = connectEventStore({ url })
  try {
    await Promise.all([
      ...channelStreams.map(({ name }) => keepAcl(connection, name, () => channelAcl)),
      ...foreignChannels.map(({ name }) => keepAcl(connection, name, foreignAcl)),
    ])
  } finally {
    connection.close()
  }
}

const timing = { append: { attemptMs: 10_000, budgetMs: 30_000 }, read: { silenceMs: 10_000, budgetMs: 15_000 } }
const unwatched = { logger: undefined, onFull: () => undefined, onAttempt: () => undefined }

async function keepAcl(
  connection: EventStoreConnection,
  stream: string,
  wanted: (stored: unknown) => AccessList,
): Promise<void> {
  const { $acl: stored } = (await readMetadata(connection, stream, timing.read)).metadata
  const $acl = wanted(stored)
  if (JSON.stringify(stored) !== JSON.stringify($acl))
    await mergeMetadata(connection, stream, { $acl }, timing, unwatched)
}

/** Keeps the roles that an operator gave the channel, so that its writers stay the same. Adds the owners. */
function foreignAcl(stored: unknown): AccessList {
  if (!isJsonObject(stored)) return foreignChannelAcl
  const rolesOf = (right: (typeof rights)[number]) => {
    const roles = [stored[right] ?? foreignChannelAcl[right]].flat().filter((role) => typeof role === 'string')
    return [...new Set([...owners, ...roles])]
  }
  return { $r: rolesOf('$r'), $w: rolesOf('$w'), $d: rolesOf('$d'), $mr: rolesOf('$mr'), $mw: rolesOf('$mw') }
}
