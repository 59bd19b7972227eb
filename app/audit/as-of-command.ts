import { v7 } from 'uuid'
import { openAccessLog } from '../../commands/audit/access-log.ts'
import { createClientKeys } from '../../commands/auth/client-keys.ts'
import { auditRecords } from '../../contracts/audit/records-in-order.ts'
import { openSealedLog } from '../../contracts/audit/sealed-log.ts'
import { openChannels } from '../../contracts/events/channels.ts'
import { createReadPositions } from '../../engine/projections/read-positions.ts'
import { requireCurrent } from '../../engine/reads/read-route.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { createPool } from '../../platform/database/database.ts'
import { createCursors } from '../../platform/http/cursors.ts'
import { problem } from '../../platform/http/problems.ts'
import { createTokenIssuer } from '../../platform/http/tokens.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { createMockIdentityProvider } from '../../processes/adapters/mock-identity-provider.ts'
import { auditSubjectsProjector } from '../../projections/audit/audit-subjects.projector.ts'
import { readModels } from '../../projections/registry.ts'
import { countStreams } from '../../read-api/events/streams-of-clients.ts'
import { pastOfServices } from '../as-of/past-of-services.ts'
import { projectedStreams } from '../projections/projected-streams.ts'
import { openAuditServers } from './audit-servers.ts'
import { recordOperatorAccess } from './operator-access.ts'
import type { AsOfOrder } from './orders.ts'

/** How long the index of streams may take to contain the newest event, in milliseconds. */
const waitMs = 10_000

/**
 * What a route answered at a moment of the past, from the servers themselves. What shows personal content is in the
 * access log before it is printed, as a command of the operator.
 * @throws Problem as `GET /v1/audit/as-of` answers it
 */
export async function asOfText(env: Environment, { at, path, org, isJson }: AsOfOrder): Promise<string> {
  const servers = await openAuditServers(env)
  const { configuration, store, vault, objects, egress } = servers
  const logger = createLogger({ level: 'silent' })
  const now = () => new Date()
  const pool = createPool({ url: configuration.databaseUrl ?? '', max: 4, name: 'platform audit', logger })
  const reads = createReadPositions({ pool, projectors: readModels })
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
  const asOf = pastOfServices(
    {
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
      positionOf: (projector) => reads.storedPosition(projector),
      records: auditRecords(store),
      sealedLog: openSealedLog({ store, vault, objects }),
      streams: countStreams(),
      verifyToken: (token) => tokens.verify(token),
    },
    logger,
  )
  try {
    await requireCurrent({ isCurrent }, auditSubjectsProjector)
    const moment = await asOf.momentOf(at)
    if (moment === undefined) throw problem('moment-in-future')
    const { status, body, persons } = await asOf.answer(org, moment, path)
    await recordOperatorAccess(accessLog, { orgId: org, persons, category: 'as_of', operation: 'readAsOf' })
    const answer = { at: moment.at.toISOString(), position: formatPosition(moment.position), status, body }
    if (isJson) return JSON.stringify(answer)
    return `${answer.at}  position ${answer.position}  status ${status}\n${JSON.stringify(body, null, 2)}`
  } finally {
    await asOf.close()
    await accessLog.close()
    await channels.close()
    reads.close()
    await pool.end()
    await servers.close()
  }
}
