import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { textAt } from '../../app/demo/members.ts'
import { createApiClient, requestToken, type ApiClient } from './raw-api.ts'
import { up, type RunningPlatform } from '../../app/up.ts'
import { createConsentTerms, type ConsentTerms } from './main-job.ts'
import { fastSettings } from './platform.ts'
import { freshDatabases } from './postgres.ts'
import { providerAt, type TestProvider } from './provider.ts'

/** A platform inside the test's process, with access to its parts, a client, consent terms and its provider. */
export interface InProcessPlatform {
  readonly platform: RunningPlatform
  readonly databaseUrl: string
  readonly provider: TestProvider
  readonly api: ApiClient
  /** Of the same client. */
  readonly token: string
  readonly terms: ConsentTerms
  /** Stops it and removes its data. An unclean stop fails the test. */
  close(): Promise<void>
}

export async function startInProcessPlatform(
  settings: Readonly<Record<string, string | undefined>>,
): Promise<InProcessPlatform> {
  const dataDir = await mkdtemp(join(tmpdir(), 'platform-'))
  const database = await freshDatabases()
  const own = {
    LOG_LEVEL: 'silent',
    PORT: '0',
    PLATFORM_DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
  }
  const platform = await up({
    env: { ...fastSettings, ...own, ...settings },
    onFatal: (reason) => expect.unreachable(reason),
  })
  const { base_url, org_id, provider_url, control_secret, clients } = platform.credentials
  const { body } = await requestToken(base_url, clients[0] ?? { client_id: '', client_secret: '' })
  const token = textAt(body, 'access_token')
  const api = createApiClient(base_url, token)
  return {
    platform,
    databaseUrl: database.url,
    provider: providerAt(provider_url ?? '', control_secret ?? ''),
    api,
    token,
    terms: await createConsentTerms(api, org_id),
    async close() {
      const code = await platform.stop.stop()
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
      expect(code).toBe(0)
    },
  }
}
