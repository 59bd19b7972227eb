import { fileURLToPath } from 'node:url'
import { v4 } from 'uuid'
import { createApiClient, at, requestToken, textAt, type ClientSecrets } from '../../app/demo/api-client.ts'
import type { Credentials } from '../../app/credentials-file.ts'
import { isRealEventStore } from 'embedded-eventstore/testing'
import { clientOf, startTestPlatform, waitFor, type PlatformInUse, type TestPlatform } from './platform.ts'
import { runFolder } from './postgres.ts'

const env = {
  NODE_OPTIONS: `--import=${fileURLToPath(new URL('end-with-parent.ts', import.meta.url))}`,
  // A review may poll until its test ends it.
  PROVIDER_RESULT_MAX_ATTEMPTS: '1000',
  // Test files write to it for their organisations.
  FOREIGN_CHANNELS: 'clinic.events',
}

let shared: Promise<TestPlatform> | undefined

/**
 * The platform of this worker, with two organisations that no other file knows. For files that need no setting of their
 * own, stop nothing, and look at nothing that belongs to all organisations, except the calls of the provider. It ends
 * with the worker. On a real event store each file has a platform of its own, because two platforms on one log would
 * both work for every organisation.
 */
export async function joinSharedPlatform(): Promise<PlatformInUse> {
  if (isRealEventStore) return startTestPlatform()
  shared ??= startTestPlatform({ under: runFolder(), env })
  const platform = await shared
  const { baseUrl, provider, process } = platform
  const own = [await newOrganisation(process.credentials, 0), await newOrganisation(process.credentials, 1)] as const
  const credentials: Credentials = {
    ...process.credentials,
    org_id: own[0].org_id,
    product_id: own[0].product_id,
    clients: [...own, clientOf(process, 2)],
  }
  await provider.reset()
  return {
    baseUrl,
    provider,
    process: { credentials },
    connect: (client = own[0]) => platform.connect(client),
    async stop() {
      await provider.reset()
      await Promise.all(own.map((client) => reviewsOver(platform, client)))
    },
  }
}

/** An organisation with a client that has the rights of a first client. */
async function newOrganisation(credentials: Credentials, place: 0 | 1) {
  const { base_url: baseUrl, admin_api_secret: secret } = credentials
  const { scopes } = clientOf({ credentials }, place)
  const grants = { org_id: v4(), product_id: v4(), scopes, trusted_actor_context: true }
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
