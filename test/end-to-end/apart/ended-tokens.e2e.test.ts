import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken, type ClientSecrets } from '../../support/raw-api.ts'
import { startPlatformApart, type PlatformApart } from '../../support/apart.ts'
import { masterKeys } from '../../support/first-clients.ts'
import { expecting } from '../../support/main-job.ts'
import { fastSettings } from '../../support/platform.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'

const main = fileURLToPath(new URL('../../../app/main.ts', import.meta.url))
/** The effect takes less than a second on a quiet machine. */
const bound = { timeout: 60_000 }

let dataDir: string
let database: FreshDatabases
let platform: PlatformApart
let apis: readonly string[]

beforeAll(async () => {
  ;[dataDir, database] = await Promise.all([mkdtemp(join(tmpdir(), 'ended-tokens-')), freshDatabases()])
  platform = await startPlatformApart(dataDir, {
    ...fastSettings,
    PORT: String(await freePort()),
    ESDB_URL: '',
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
  })
  apis = platform.instances.filter(({ role }) => role === 'api').map(({ port }) => `http://127.0.0.1:${port}`)
})

afterAll(async () => {
  await platform.stop()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

const admin = () => ({ 'x-admin-api-secret': platform.credentials.admin_api_secret ?? '' })

async function registerClient(): Promise<ClientSecrets> {
  const body = { name: 'to be ended', org_id: platform.credentials.org_id, scopes: ['patients:read'] }
  const answer = await fetch(`${apis[0]}/v1/auth/clients`, {
    method: 'POST',
    headers: { ...admin(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const record: unknown = await answer.json()
  return { client_id: textAt(record, 'client_id'), client_secret: textAt(record, 'client_secret') }
}

/** A token that each API process has verified and cached. */
async function tokenInUse(client: ClientSecrets): Promise<string> {
  const token = textAt((await expecting(200, requestToken(apis[0] ?? '', client))).body, 'access_token')
  expect(await statuses(token)).toEqual(apis.map(() => 200))
  return token
}

const statuses = (token: string) =>
  Promise.all(
    apis.map(async (base) => (await createApiClient(base, token).call('/v1/clinical-api/body-sites?limit=1')).status),
  )
const untilRefused = (token: string) => expect.poll(() => statuses(token), bound).toEqual(apis.map(() => 401))

test('a token revoked at one API process is refused by the other, and by one that starts later', async () => {
  const client = await registerClient()
  const [token, kept] = [await tokenInUse(client), await tokenInUse(client)]
  const form = new URLSearchParams({ ...client, token })
  expect((await fetch(`${apis[1]}/v1/auth/oauth/revoke`, { method: 'POST', body: form })).status).toBe(200)
  await untilRefused(token)
  expect(await statuses(kept)).toEqual([200, 200])

  const { port } = await platform.another('api')
  apis = [...apis, `http://127.0.0.1:${port}`]
  expect([await statuses(token), await statuses(kept)]).toEqual([
    [401, 401, 401],
    [200, 200, 200],
  ])
})

test('a disabled client, a lost scope and a deleted client end tokens in every API process', async () => {
  const client = await registerClient()
  const path = `${apis[0]}/v1/auth/clients/${client.client_id}`
  const headers = { ...admin(), 'content-type': 'application/json' }
  const change = async (body: object) =>
    expect((await fetch(path, { method: 'PATCH', headers, body: JSON.stringify(body) })).status).toBe(200)

  const first = await tokenInUse(client)
  await change({ status: 'disabled' })
  await untilRefused(first)
  await change({ status: 'active', scopes: ['patients:read', 'cases:read'] })
  const second = await tokenInUse(client)
  await change({ scopes: ['patients:read'] })
  await untilRefused(second)
  const third = await tokenInUse(client)
  expect((await fetch(path, { method: 'DELETE', headers: admin() })).status).toBe(204)
  await untilRefused(third)
  expect(await statuses(first)).toEqual(apis.map(() => 401))
})

test('the command keys end token ends every token of a key in every API process, and another key signs', async () => {
  const client = await registerClient()
  const token = await tokenInUse(client)
  const [header = ''] = token.split('.')
  const kid = textAt(JSON.parse(Buffer.from(header, 'base64url').toString()), 'kid')
  const env = { ...process.env, ...platform.environment, BASE_URL: '' }
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'keys', 'end', 'token', '--kid', kid], { env })
  expect(JSON.parse(stdout)).toEqual({ kid, signs: expect.not.stringMatching(kid) })
  await untilRefused(token)
  await tokenInUse(client)
})

test('the command keys rotate adds a key that every API process publishes without a restart', async () => {
  const servers = { DATABASE_URL: database.url, VAULT_DATABASE_URL: database.vaultUrl }
  const env = { ...process.env, ...servers, BASE_URL: '', MASTER_KEYS: await masterKeys(dataDir) }
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'keys', 'rotate', 'token'], { env })
  const kid = textAt(JSON.parse(stdout), 'kid')
  for (const base of apis) {
    const published = async () => {
      const { keys } = (await (await fetch(`${base}/v1/auth/.well-known/jwks.json`)).json()) as { keys: unknown[] }
      return keys.map((key) => at(key, 'kid'))
    }
    await expect.poll(published, { timeout: 90_000, interval: 500 }).toContain(kid)
  }
})
