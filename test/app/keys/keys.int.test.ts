import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runKeys } from '../../../app/keys/run.ts'
import type { KeysOrder } from '../../../app/keys/orders.ts'
import { at } from '../../../app/demo/members.ts'
import { openUnsubscribeToken, unsubscribeUrl } from '../../../commands/notifications/unsubscribe-links.ts'
import { keepServers } from '../../../app/servers-file.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { createMasterKeyFile, parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault, type Vault } from '../../../platform/vault/vault.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'

let database: FreshDatabases
let dataDir: string
const opened: Vault[] = []
beforeEach(async () => {
  ;[database, dataDir] = await Promise.all([freshDatabases(), mkdtemp(join(tmpdir(), 'keys-'))])
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((vault) => vault.close()))
  await Promise.all([database.drop(), rm(dataDir, { recursive: true, force: true })])
})

const organisation = tenantOfFact(randomUUID())
const older = `older:${randomBytes(32).toString('base64')}`
const newer = `newer:${randomBytes(32).toString('base64')}`

async function vaultWith(masterKeys: string, now?: () => Date): Promise<Vault> {
  const options = { url: database.vaultUrl, masterKeys: parseMasterKeys(masterKeys) }
  const vault = await openVault(now === undefined ? options : { ...options, now })
  opened.push(vault)
  return vault
}

async function closeAll(): Promise<void> {
  await Promise.all(opened.splice(0).map((vault) => vault.close()))
}

function environment(masterKeys: string): Readonly<Record<string, string>> {
  return { DATABASE_URL: database.url, VAULT_DATABASE_URL: database.vaultUrl, MASTER_KEYS: masterKeys }
}

/** What a command prints. */
async function outputOf(order: KeysOrder, env: Readonly<Record<string, string>>) {
  const printed = { out: '', err: '' }
  await runKeys(order, env, {
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
    isInteractive: false,
  })
  return printed
}

const listed = async (masterKeys: string) =>
  JSON.parse((await outputOf({ action: 'list', isJson: true }, environment(masterKeys))).out) as {
    readonly master_keys: readonly unknown[]
    readonly keys: readonly unknown[]
    readonly secrets: readonly unknown[]
  }

async function query(text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: database.vaultUrl })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function expectRotation(vault: Vault, env: Readonly<Record<string, string>>): Promise<void> {
  const before = Date.now()
  const rotated: unknown = JSON.parse((await outputOf({ action: 'rotate', purpose: 'token' }, env)).out)
  expect(rotated).toMatchObject({ purpose: 'token' })
  expect(Date.parse(String(at(rotated, 'signs_from')))).toBeGreaterThanOrEqual(before + 360_000)
  expect((await vault.publicKeys('token')).map(({ kid }) => kid)).toContain(at(rotated, 'kid'))
  expect((await vault.signingKey('token')).kid).not.toBe(at(rotated, 'kid'))
}

test('keys rotate adds a key, and says from when it signs', async () => {
  await expectRotation(await vaultWith(older), environment(older))
})

test('beside npm start, keys rotate finds the vault and its keys in the data folder', async () => {
  const env = { PLATFORM_DATA_DIR: dataDir }
  await expect(outputOf({ action: 'rotate', purpose: 'token' }, env)).rejects.toThrow(
    `keys rotate needs DATABASE_URL, VAULT_DATABASE_URL, MASTER_KEYS: set them in the environment; no platform runs over ${dataDir}`,
  )
  const addresses = {
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
    ESDB_URL: 'esdb://127.0.0.1:1',
  }
  await keepServers(loadConfiguration({ ...env, ...addresses }))
  await createMasterKeyFile(join(dataDir, 'master-keys'))
  await expectRotation(await vaultWith((await readFile(join(dataDir, 'master-keys'), 'utf8')).trim()), env)
})

test('keys rotate unsubscribe makes a key for new links; those from before open as well, in every process', async () => {
  const [one, two] = [await vaultWith(older), await vaultWith(older)]
  const of = (vault: Vault) => ({ vault, configuration: { baseUrl: 'https://clinic.example' }, now: () => new Date() })
  const subject = { userId: randomUUID(), orgId: organisation, category: 'marketing', channel: 'email' } as const
  const linkBy = async (vault: Vault) => (await unsubscribeUrl(of(vault), subject))?.split('=').at(-1) ?? ''
  const before = await linkBy(one)
  expect(await openUnsubscribeToken(of(two), before)).toMatchObject(subject)

  const { out } = await outputOf({ action: 'rotate', purpose: 'unsubscribe' }, environment(older))
  const later = await vaultWith(older)
  const after = await linkBy(later)
  expect(await openUnsubscribeToken(of(later), before)).toMatchObject(subject)
  // A process that has not read the new key reads it when a link does not open, at most every five seconds.
  await expect.poll(() => openUnsubscribeToken(of(two), after), { timeout: 20_000 }).toMatchObject(subject)
  const [newest, first] = (await later.inventory()).keys.filter(({ purpose }) => purpose === 'unsubscribe')
  expect([newest?.id, newest?.status, first?.status]).toEqual([at(JSON.parse(out), 'kid'), 'signs', 'verifies'])
  await one.destroySecret('unsubscribe', newest?.id ?? '')
  expect(await openUnsubscribeToken(of(await vaultWith(older)), after)).toBe('invalid')
})

test('keys list names each key, what it does now and its master key, and no secret', async () => {
  const day = 86_400_000
  let now = new Date()
  const vault = await vaultWith(older, () => now)
  const first = await vault.signingKey('token')
  await vault.signingKey('receipt')
  const second = await vault.rotateSigningKey('token')
  await vault.subjectKeyForWriting(randomUUID(), 'one')
  await vault.subjectKeyForWriting(randomUUID(), 'two')
  const of = async (purpose: string) =>
    (await vault.inventory()).keys.filter((key) => key.purpose === purpose).map(({ id, status }) => [id, status])
  const announced = [
    [second.kid, 'announced'],
    [first.kid, 'signs'],
  ]
  expect(await of('token')).toEqual(announced)

  const { keys, master_keys: masterKeys, secrets } = await listed(older)
  expect(keys.filter((key) => at(key, 'purpose') === 'token').map((key) => [at(key, 'id'), at(key, 'status')])).toEqual(
    announced,
  )
  expect(keys.map((key) => at(key, 'purpose'))).toEqual(expect.arrayContaining(['receipt', 'pepper']))
  expect(masterKeys).toEqual([{ id: 'older', wraps: true, in_ring: true, secrets: expect.any(Number) }])
  expect(secrets).toContainEqual(expect.objectContaining({ kind: 'subject', count: 2, master_key: 'older' }))
  const text = (await outputOf({ action: 'list', isJson: false }, environment(older))).out
  expect(text).toMatch(new RegExp(`^token +${second.kid} +signs from 20`, 'm'))
  expect(text).toContain('wraps new secrets')
  const stored = await query(`select encode(wrapped, 'hex') as hex from vault_secrets`)
  for (const { hex } of stored) expect(text).not.toContain(hex)

  now = new Date(now.getTime() + 600_000)
  expect(await of('token')).toEqual([
    [second.kid, 'signs'],
    [first.kid, 'verifies'],
  ])
  // A key signs until its successor begins.
  const ofTokens = (await vault.inventory()).keys.filter(({ purpose }) => purpose === 'token')
  expect(ofTokens.map(({ lastSignature }) => lastSignature)).toEqual([null, ofTokens[0]?.signsFrom])
  now = new Date(now.getTime() + 2 * day)
  expect(await of('token')).toEqual([
    [second.kid, 'signs'],
    [first.kid, 'ended'],
  ])
})

test('keys rewrap moves every secret to the first master key; afterwards a start needs no other', async () => {
  const before = await vaultWith(older)
  const orgId = randomUUID()
  // More than one batch of 500.
  const ids = Array.from({ length: 510 }, (_, place) => `subject-${place}`)
  const keys = new Map<string, string>()
  for (const id of ids) {
    const key = await before.subjectKeyForWriting(orgId, id)
    keys.set(id, typeof key === 'string' ? key : key.export().toString('hex'))
  }
  await before.destroySubject(orgId, 'subject-7')
  const { kid } = await before.signingKey('token')
  await closeAll()

  const count = (await query('select count(*)::integer as count from vault_secrets where wrapped is not null'))[0]
  const { out, err } = await outputOf({ action: 'rewrap' }, environment(`${newer},${older}`))
  expect(JSON.parse(out)).toEqual({ master_key: 'newer', rewrapped: count?.['count'] })
  expect(err).toContain(`0 of ${String(count?.['count'])} secrets\n500 of`)
  expect(await query(`select 1 from vault_secrets where wrapped is not null and master_key_id <> 'newer'`)).toEqual([])

  const after = await vaultWith(newer)
  expect((await after.signingKey('token')).kid).toBe(kid)
  for (const id of ids) {
    const key = await after.subjectKeyForReading(orgId, id)
    const expected = id === 'subject-7' ? 'destroyed' : keys.get(id)
    expect(typeof key === 'string' ? key : key.export().toString('hex')).toBe(expected)
  }
  expect((await listed(newer)).master_keys).toEqual([
    { id: 'newer', wraps: true, in_ring: true, secrets: count?.['count'] },
  ])
  // A repeat has nothing to do.
  expect(JSON.parse((await outputOf({ action: 'rewrap' }, environment(newer))).out)).toEqual({
    master_key: 'newer',
    rewrapped: 0,
  })
})

test('keys rewrap goes on where it was stopped, and leaves alone what is replaced meanwhile', async () => {
  const before = await vaultWith(older)
  const orgId = randomUUID()
  for (let place = 0; place < 510; place += 1) await before.subjectKeyForWriting(orgId, `subject-${place}`)
  await closeAll()
  const stopped = await vaultWith(`${newer},${older}`)
  const stop = () => {
    throw new Error('stopped')
  }
  await expect(stopped.rewrap((done) => (done > 0 ? stop() : undefined))).rejects.toThrow('stopped')
  const left = async () =>
    (await query(`select id from vault_secrets where wrapped is not null and master_key_id = 'older'`)).length
  const halfway = await left()
  expect(halfway).toBeGreaterThan(0)
  expect(halfway).toBeLessThan(510)
  await Promise.all([stopped.rewrap(() => undefined), stopped.destroySubject(orgId, 'subject-509')])
  expect(await left()).toBe(0)
  expect(await stopped.subjectKeyForReading(orgId, 'subject-509')).toBe('destroyed')
  expect(await stopped.subjectKeyForReading(orgId, 'subject-508')).not.toBe('destroyed')
})

test('keys rewrap is refused while a process runs that does not have the new master key', async () => {
  const running = await vaultWith(older)
  await expect(outputOf({ action: 'rewrap' }, environment(`${newer},${older}`))).rejects.toThrow(
    'a process that runs wraps with master key older: give all processes the new MASTER_KEYS first',
  )
  expect(await running.subjectKeyForReading('org', 'nobody').catch((error: unknown) => String(error))).toContain(
    'holds no subject key',
  )
})

test('a start without a master key that is in use, or with a wrong one, names it and changes nothing', async () => {
  const before = await vaultWith(older)
  await before.subjectKeyForWriting('org', 'one')
  await closeAll()
  const stored = await query('select * from vault_secrets order by kind, id')
  await expect(vaultWith(newer)).rejects.toThrow('the vault needs master key older, which is not in the ring')
  const wrong = `older:${randomBytes(32).toString('base64')}`
  await expect(vaultWith(wrong)).rejects.toThrow('does not open with master key older')
  // All of the first one's secrets open, and one of another.
  await vaultWith(`${newer},${older}`).then((vault) => vault.subjectKeyForWriting('org', 'two'))
  await closeAll()
  await expect(vaultWith(older)).rejects.toThrow('the vault needs master key newer, which is not in the ring')
  expect((await query('select * from vault_secrets order by kind, id')).length).toBe(stored.length + 1)
})
