import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runKeys } from '../../../app/keys/run.ts'
import type { KeysOrder } from '../../../app/keys/orders.ts'
import { openMasterKeys } from '../../../app/master-keys.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'
import { startTransit, type TransitStandIn } from '../../support/transit-stand-in.ts'

// A real engine can take the place of the stand-in: its address with the mount, its key, and a token.
const { TEST_TRANSIT_URL: realUrl, TEST_TRANSIT_TOKEN: realToken = '' } = process.env
const keyName = 'platform'

let transit: TransitStandIn
let database: FreshDatabases
let dataDir: string
const closing: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  ;[transit, database, dataDir] = await Promise.all([
    startTransit(keyName),
    freshDatabases(),
    mkdtemp(join(tmpdir(), 'transit-')),
  ])
  if (realUrl !== undefined) transit = { ...transit, url: realUrl, token: realToken }
  closing.push(
    () => transit.stop(),
    () => database.drop(),
    () => rm(dataDir, { recursive: true, force: true }),
  )
})
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const settings = (changes: Readonly<Record<string, string>> = {}) => ({
  MASTER_KEY_PROVIDER: 'transit',
  TRANSIT_URL: transit.url,
  TRANSIT_KEY: keyName,
  TRANSIT_TOKEN: transit.token,
  DATABASE_URL: database.url,
  VAULT_DATABASE_URL: database.vaultUrl,
  PLATFORM_DATA_DIR: dataDir,
  ...changes,
})
const ringOf = (env: Readonly<Record<string, string>>, makesFile = false) =>
  openMasterKeys(loadConfiguration(env), makesFile)

async function outputOf(order: KeysOrder, env: Readonly<Record<string, string>>): Promise<string> {
  let out = ''
  await runKeys(order, env, { out: (text) => void (out += text), err: () => undefined, isInteractive: false })
  return out
}

test('keys new-master makes a wrapped key, and rewrap moves a vault from a plain key to it', async () => {
  const plain = `master-1:${randomBytes(32).toString('base64')}`
  const before = await openVault({ url: database.vaultUrl, masterKeys: await ringOf(plainSettings(plain)) })
  const secret = await before.secret('webhook', 'kept')
  await before.close()

  const wrapped = await outputOf({ action: 'new-master', id: 'master-2' }, settings())
  expect(wrapped).toMatch(/^master-2:vault:v1:[A-Za-z0-9+/=]+$/)
  const env = settings({ MASTER_KEYS: `${wrapped},${plain}` })
  expect(JSON.parse(await outputOf({ action: 'rewrap' }, env))).toMatchObject({ master_key: 'master-2' })

  // From now on the plain key is not needed, and the transit engine only at the start.
  const after = await openVault({
    url: database.vaultUrl,
    masterKeys: await ringOf(settings({ MASTER_KEYS: wrapped })),
  })
  closing.push(() => after.close())
  await transit.stop()
  expect(await after.storedSecret('webhook', 'kept')).toEqual(secret)
  expect(await after.secret('webhook', 'another')).toHaveLength(24)
  await expect(openVault({ url: database.vaultUrl, masterKeys: await ringOf(plainSettings(plain)) })).rejects.toThrow(
    'the vault needs master key master-2, which is not in the ring',
  )
})

function plainSettings(plain: string): Readonly<Record<string, string>> {
  return { MASTER_KEYS: plain, PLATFORM_DATA_DIR: dataDir }
}

test('the first start of a data folder makes a wrapped key, and the next start unwraps it', async () => {
  const first = await ringOf(settings(), true)
  const file = await readFile(join(dataDir, 'master-keys'), 'utf8')
  expect(file).toMatch(/^master-1:vault:v1:[A-Za-z0-9+/=]+\n$/)
  expect(file).not.toContain(first.wrapWith.key.export().toString('base64'))
  const again = await ringOf(settings(), true)
  expect(again.wrapWith.key.equals(first.wrapWith.key)).toBe(true)
  await expect(ringOf({ PLATFORM_DATA_DIR: dataDir })).rejects.toThrow(
    'master key 1 (master-1) is wrapped by a transit engine: set MASTER_KEY_PROVIDER=transit',
  )
})

test('a start that cannot unwrap is refused with the reason, and without a secret', async () => {
  const wrapped = await outputOf({ action: 'new-master', id: 'master-1' }, settings())
  const refusal = async (changes: Readonly<Record<string, string>>) => {
    const error: unknown = await ringOf(settings({ MASTER_KEYS: wrapped, ...changes })).catch(
      (thrown: unknown) => thrown,
    )
    const message = error instanceof Error ? error.message : ''
    for (const hidden of [transit.token, wrapped.slice('master-1:vault:v1:'.length), 's.wrong'])
      expect(message).not.toContain(hidden)
    return message
  }
  const engine = 'the transit engine of TRANSIT_URL'
  expect(await refusal({ TRANSIT_TOKEN: 's.wrong' })).toBe(
    `${engine} does not unwrap master key master-1: it answers 403. TRANSIT_TOKEN has ended or lacks the right`,
  )
  expect(await refusal({ TRANSIT_KEY: 'another' })).toContain('it answers 400. TRANSIT_KEY is another key')
  expect(await refusal({ TRANSIT_URL: transit.url.replace('/transit', '/elsewhere') })).toMatch(/it answers 40[34]\./)
  const changed = wrapped.slice(0, -6) + (wrapped.endsWith('AAAA==') ? 'BBBB==' : 'AAAA==')
  expect(await refusal({ MASTER_KEYS: changed })).toContain('it answers 400.')
  expect(await refusal({ MASTER_KEYS: `plain:${randomBytes(32).toString('base64')}` })).toContain(
    'the first master key is not wrapped by the transit engine',
  )
  expect(await refusal({ TRANSIT_URL: 'http://127.0.0.1:9/v1/transit' })).toBe(
    `${engine} does not answer (connect), so it does not unwrap master key master-1`,
  )
})

test('settings that contradict each other are refused', async () => {
  const refusal = (env: Readonly<Record<string, string>>) => () => loadConfiguration(env)
  expect(refusal({ MASTER_KEY_PROVIDER: 'transit' })).toThrow(
    'TRANSIT_URL, TRANSIT_KEY and TRANSIT_TOKEN must be set together',
  )
  expect(refusal({ ...settings(), MASTER_KEY_PROVIDER: 'env' })).toThrow('must be set together')
  expect(refusal({ MASTER_KEY_PROVIDER: 'env' })).toThrow('MASTER_KEYS must be set when MASTER_KEY_PROVIDER is env')
  const plain = `master-1:${randomBytes(32).toString('base64')}`
  expect(refusal({ MASTER_KEY_PROVIDER: 'file', MASTER_KEYS: plain })).toThrow('MASTER_KEYS must be unset')
  await writeFile(join(dataDir, 'master-keys'), plain, { mode: 0o600 })
  expect((await ringOf({ MASTER_KEY_PROVIDER: 'file', PLATFORM_DATA_DIR: dataDir })).wrapWith.id).toBe('master-1')
})
