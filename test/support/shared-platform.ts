import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { v4 } from 'uuid'
import { at, textAt } from '../../app/demo/members.ts'
import { createApiClient, requestToken, type ClientSecrets } from './raw-api.ts'
import type { Credentials } from '../../app/credentials-file.ts'
import { isRealEventStore } from 'embedded-eventstore/testing'
import { endAfterEndToEnd } from './end-to-end-resources.ts'
import { clientOf, startTestPlatform, waitFor, type PlatformInUse, type TestPlatform } from './platform.ts'
import { runFolder } from './postgres.ts'

/** An organisation whose consent routes need their scopes. One file may join for it. */
export const organisationWithScopes = v4()

const env = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL('end-with-parent.ts', import.meta.url))}`,
  // A review may poll until its test ends it.
  PROVIDER_RESULT_MAX_ATTEMPTS: '1000',
  // Test files write to it for their organisations.
  FOREIGN_CHANNELS: 'clinic.events,visits.events',
  CONSENT_SCOPES_REQUIRED: organisationWithScopes,
  WEBHOOK_RETRY_SCHEDULE_MS: '0,100',
  // A test holds up the answers about consent, and may need seconds until it releases them.
  PROVIDER_START_RETRY_SCHEDULE_MS: '100,200,400,1000,1000,1000',
  // The version of a record with signed addresses changes with each new signature. This time is longer than a file.
  DOWNLOAD_URL_TTL_SECONDS: '604800',
}

let shared: Promise<TestPlatform> | undefined

/**
 * The platform of this worker, with two organisations that no other file knows. For files that need no setting of their
 * own, stop nothing, and look at nothing that belongs to all organisations, except the calls of the provider. It ends
 * before the first file of another tier. On a real event store each file has a platform of its own, because two platforms on one log would
 * both work for every organisation.
 */
export async function joinSharedPlatform(orgId: string = v4()): Promise<PlatformInUse> {
  const starting = isRealEventStore ? startTestPlatform({ env }) : (shared ??= startShared())
  const platform = await starting
  // Loading a file can take longer than the platform keeps idle connections. Two turns of the event loop remove those.
  await nextTurn()
  await nextTurn()
  const { baseUrl, dataDir, provider, process } = platform
  const own = [await newOrganisation(platform, 0, orgId), await newOrganisation(platform, 1)] as const
  const credentials: Credentials = {
    ...process.credentials,
    org_id: own[0].org_id,
    product_id: own[0].product_id,
    clients: [...own, clientOf(process, 2)],
  }
  await provider.reset()
  return {
    baseUrl,
    dataDir,
    provider,
    process: { credentials },
    connect: (client = own[0]) => platform.connect(client),
    async stop() {
      await provider.reset()
      await Promise.all(own.map((client) => reviewsOver(platform, client)))
      if (isRealEventStore) await platform.stop()
    },
  }
}

/** Idle, it takes 4 % of a processor, most of it for asking its database for due work. */
function startShared(): Promise<TestPlatform> {
  const starting = startTestPlatform({ under: runFolder(), env })
  endAfterEndToEnd(async () => {
    shared = undefined
    // A failed start has failed its file.
    await (await starting.catch(() => undefined))?.stop()
  })
  return starting
}

/** An organisation with a client that has the rights of a first client. */
async function newOrganisation({ baseUrl, process }: TestPlatform, place: 0 | 1, orgId: string = v4()) {
  const { scopes } = clientOf(process, place)
  const secret = process.credentials.admin_api_secret
  const grants = { org_id: orgId, product_id: v4(), scopes, trusted_actor_context: true }
  const answer = await fetch(`${baseUrl}/v1/auth/clients?org_id=${grants.org_id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-admin-api-secret': secret ?? '' },
    body: JSON.stringify({ name: 'first client', ...grants }),
  })
  const body: unknown = await answer.json()
  if (answer.status !== 201) throw new Error(`no new organisation: ${JSON.stringify(body)}`)
  return { ...grants, client_id: textAt(body, 'client_id'), client_secret: textAt(body, 'client_secret') }
}

/** The next file counts the calls of the provider. So nothing of this file may call it then. */
async function reviewsOver(platform: TestPlatform, client: ClientSecrets): Promise<void> {
  const { body } = await requestToken(platform.baseUrl, client)
  const api = createApiClient(platform.baseUrl, textAt(body, 'access_token'))
  for (const status of ['pending', 'in_progress', 'awaiting_result']) {
    await waitFor(`the end of reviews that are ${status}`, async () => {
      const found = await api.call(`/v1/ai-reviews?status=${status}&limit=1`)
      return at(found.body, 'hasMore') === false && at(found.body, 'data', 0) === undefined ? true : undefined
    })
  }
}
