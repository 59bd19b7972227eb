import { v7 } from 'uuid'
import { openAccessLog } from '../../commands/audit/access-log.ts'
import { createClientKeys } from '../../commands/auth/client-keys.ts'
import { auditRecords } from '../../contracts/audit/records-in-order.ts'
import { openProvenance } from '../../contracts/audit/provenance.ts'
import { openSealedLog } from '../../contracts/audit/sealed-log.ts'
import { openChannels } from '../../contracts/events/channels.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { ReadPositions } from '../../engine/projections/read-positions.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { createPool, type Pool } from '../../platform/database/database.ts'
import { createCursors } from '../../platform/http/cursors.ts'
import { createTokenIssuer } from '../../platform/http/tokens.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { createMockIdentityProvider } from '../../processes/adapters/mock-identity-provider.ts'
import { readModels } from '../../projections/registry.ts'
import { partsOf } from '../../read-api/audit/subject-queries.ts'
import { countStreams } from '../../engine/reads/open-streams.ts'
import { createOperations } from '../operations/operations.ts'
import { createSubjects } from '../operations/subjects.ts'
import { pastOfServices } from '../as-of/past-of-services.ts'
import { projectedStreams } from '../projections/projected-streams.ts'
import type { AccessLog } from '../../platform/http/shown-content.ts'
import type { ServiceDependencies } from '../services.ts'
import { openAuditServers } from './audit-servers.ts'

/** How long a read model may take to contain the newest event, in milliseconds. */
const waitMs = 10_000

/** The services over the servers of a command. Nothing listens. */
export interface OperatorServices {
  readonly services: ServiceDependencies
  readonly accessLog: AccessLog
  readonly close: () => Promise<void>
}

const nameOf = { patient: 'patient', ai_review: 'AI review' } as const
/** A consent needs no registration: it names a patient by an id alone. */
const categoriesOf = { patient: ['patient', 'consent'], ai_review: ['ai_review'] } as const

/**
 * @param org the organisation that the operator named
 * @throws Error if nothing is known of the subject, or if several organisations know one with this id and none is named
 */
export async function organisationOf(
  pool: Pool,
  kind: keyof typeof nameOf,
  id: string,
  org?: TenantId,
): Promise<TenantId> {
  const question = {
    order: 'asc',
    after: undefined,
    from: undefined,
    to: undefined,
    categories: categoriesOf[kind],
  } as const
  const found = new Set<TenantId>()
  for await (const { stream } of partsOf(pool, { kind, id, tenant: org ?? null }, question))
    found.add(parseOwnedStream(stream).orgId)
  const [orgId] = found
  if (orgId === undefined)
    throw new Error(`nothing is known of ${nameOf[kind]} ${id}${org === undefined ? '' : ` in organisation ${org}`}`)
  if (found.size > 1)
    throw new Error(`several organisations know a ${nameOf[kind]} ${id}, name one with --org: ${[...found].join(', ')}`)
  return orgId
}

export async function openOperatorServices(env: Environment): Promise<OperatorServices> {
  const servers = await openAuditServers(env)
  const { configuration, store, vault, objects, egress } = servers
  const logger = createLogger({ level: 'silent' })
  const now = () => new Date()
  const pool = createPool({ url: configuration.databaseUrl ?? '', max: 4, name: 'platform audit', logger })
  const reads = new ReadPositions({ pool, projectors: readModels })
  const channels = openChannels(store)
  const accessLog = openAccessLog({ store, configuration, logger, now, newId: v7 })
  const tokens = createTokenIssuer({
    keys: vault,
    issuer: `${configuration.baseUrl}/v1/auth`,
    audience: configuration.baseUrl,
    ttlSeconds: configuration.tokenTtlSeconds,
    endings: undefined,
    now,
  })
  const isCurrent = (projector: string) =>
    reads.requireHead((asked) => store.head({ streamPrefixes: projectedStreams }, asked), projector, waitMs)
  const work = { pool, failedRetentionSeconds: configuration.failedRetentionSeconds }
  const given = {
    configuration,
    store,
    vault,
    objects,
    pool,
    now,
    tokens,
    channels,
    isCurrent,
    // No route that reads asks it.
    identityProvider: createMockIdentityProvider(),
    failpoint: () => undefined,
    clientKeys: createClientKeys({ egress, configuration, now }),
    cursors: createCursors({ key: await vault.secret('cursor', 'current'), now }),
    positionOf: (projector: string) => reads.storedPosition(projector),
    records: auditRecords(store),
    sealedLog: openSealedLog({ store, vault, objects }),
    provenance: openProvenance({ store, vault, objects, configuration }),
    operations: createOperations({ ...work, store: async () => store, now }),
    subjects: createSubjects({
      ...work,
      records: auditRecords(store),
      isErased: (orgId, patientId) => vault.isClosed(orgId, patientId),
    }),
    streams: countStreams(),
  }
  const asOf = pastOfServices(given, logger)
  return {
    services: { ...given, asOf },
    accessLog,
    async close() {
      await asOf.close()
      await accessLog.close()
      await channels.close()
      reads.close()
      await pool.end()
      await servers.close()
    },
  }
}
