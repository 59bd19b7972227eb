import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { linesIn } from '../../../platform/backup/index-lines.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { copyVault, openVaultRestore } from '../../../platform/vault/vault-copy.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { freshVault, type FreshDatabase } from '../../support/postgres.ts'
import { newKeysText } from '../backup/planted-place.ts'

const masterKeys = parseMasterKeys(newKeysText('master-1'))
const now = new Date('2026-11-28T10:00:00.000Z')
let original: FreshDatabase
let target: FreshDatabase

beforeAll(async () => {
  ;[original, target] = [await freshVault(), await freshVault()]
})
afterAll(async () => {
  await original.drop()
  await target.drop()
})

test('a copy has the vault of one moment, and a restored vault opens what the original did', async () => {
  const vault = await openVault({ url: original.url, masterKeys })
  const keyOf = async (from: typeof vault, subject: string) => {
    const key = await from.subjectKeyForReading('org', subject)
    return key === 'destroyed' ? key : key.export().toString('hex')
  }
  // More than one batch of 500.
  for (let n = 0; n < 510; n += 1) await vault.subjectKeyForWriting('org', `patient-${n}`)
  await vault.destroySubject('org', 'patient-7')
  expect(await vault.useOnce('jti', { until: new Date(now.getTime() + 3_600_000), now })).toBe(true)
  const tables: { name: string; lines: string[] }[] = []
  for await (const { name, lines } of copyVault(original.url)) {
    const read: string[] = []
    for await (const line of linesIn(lines)) read.push(line)
    tables.push({ name, lines: read })
    // The second table is of the same moment as the first one.
    await vault.subjectKeyForWriting('org', 'later')
    await vault.useOnce('later', { until: new Date(now.getTime() + 3_600_000), now })
  }
  expect(tables.map(({ name }) => name)).toEqual([
    'vault_erasures',
    'vault_rewrites',
    'vault_secrets',
    'vault_used_once',
  ])

  const restore = await openVaultRestore(target.url, masterKeys)
  async function* inOrder(lines: readonly string[]): AsyncGenerator<string> {
    yield* lines
  }
  for (const { name, lines } of tables) await restore.table(name, inOrder(lines))
  expect(await restore.destroySubjects(inOrder(['org/patient-8', 'org/unknown']))).toBe(2)
  const erased = { org_id: 'org', subject_id: 'patient-9', erased_at: now.toISOString(), signature: 'of the original' }
  const lines = [JSON.stringify(erased)]
  // Two backups contain the same entry.
  await restore.addErasures(inOrder(lines))
  await restore.addErasures(inOrder(lines))
  await expect(restore.table('vault_new', inOrder([]))).rejects.toThrow('a newer version made it')
  await restore.close()
  await expect(openVaultRestore(target.url, masterKeys)).rejects.toThrow('not empty')

  const restored = await openVault({ url: target.url, masterKeys })
  expect(restored.fingerprint('text')).toBe(vault.fingerprint('text'))
  expect(await keyOf(restored, 'patient-509')).toBe(await keyOf(vault, 'patient-509'))
  expect([await keyOf(restored, 'patient-7'), await keyOf(restored, 'patient-8')]).toEqual(['destroyed', 'destroyed'])
  await expect(restored.subjectKeyForReading('org', 'later')).rejects.toThrow('holds no subject key')
  const until = new Date(now.getTime() + 3_600_000)
  expect([await restored.useOnce('jti', { until, now }), await restored.useOnce('later', { until, now })]).toEqual([
    false,
    true,
  ])
  const ledger = []
  for await (const entry of restored.erasures()) ledger.push(entry)
  expect(ledger).toEqual([
    { orgId: 'org', subjectId: 'patient-9', erasedAt: now.toISOString(), signature: 'of the original' },
  ])
  await restored.close()
  await vault.close()
})

test('a table of somebody else beside the vault is in no copy, and one in an older copy is left out', async () => {
  const [database, empty] = [await freshVault(), await freshVault()]
  await (await openVault({ url: database.url, masterKeys })).close()
  const client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query('create table heartbeat (at timestamptz); insert into heartbeat values (now())')
  await client.end()
  const names: string[] = []
  for await (const { name, lines } of copyVault(database.url)) {
    names.push(name)
    for await (const _ of lines) continue
  }
  expect(names).toEqual(['vault_erasures', 'vault_rewrites', 'vault_secrets', 'vault_used_once'])
  const restore = await openVaultRestore(empty.url, masterKeys)
  async function* copied(): AsyncGenerator<string> {
    yield '{"at":null}'
  }
  await restore.table('heartbeat', copied())
  await restore.close()
  await database.drop()
  await empty.drop()
})
