import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { startPostgres, type EmbeddedPostgres } from '../../../embedded/postgres/start-postgres.ts'
import { createPool } from '../../../platform/database/database.ts'
import { ifPresent } from '../../../platform/kit/error-codes.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { copyVault } from '../../../platform/vault/vault-copy.ts'
import { VaultRows } from '../../../platform/vault/vault-rows.ts'
import { openVault } from '../../../platform/vault/vault.ts'

const masterKeys = parseMasterKeys(`test:${randomBytes(32).toString('base64')}`)
let folder: string
let server: EmbeddedPostgres

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'destroyed-keys-'))
  server = await startPostgres({
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    password: 'secret',
    databases: ['vault'],
    rolePasswords: { vault: 'secret-of-the-role' },
  })
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

/** The files that contain the bytes. */
async function filesWith(bytes: Buffer): Promise<readonly string[]> {
  const found: string[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    // A file may end while its folder is read.
    if (entry.isFile() && (await ifPresent(readFile(path)))?.includes(bytes) === true) found.push(path)
  }
  return found
}

it('no file of the vault contains the wrapped key after its destruction and a rewriting', async () => {
  const vault = await openVault({ url: server.url('vault'), masterKeys })
  const admin = new Client({ connectionString: server.url('vault') })
  await admin.connect()
  await vault.subjectKeyForWriting('org', 'erased')
  await vault.subjectKeyForWriting('org', 'living')
  const { rows } = await admin.query<{ id: string; wrapped: Buffer }>(
    `select id, wrapped from vault_secrets where kind = 'subject' order by id`,
  )
  const [erased, living] = rows.map(({ wrapped }) => wrapped)
  if (erased === undefined || living === undefined) throw new Error('two keys')
  await vault.eraseSubject('org', 'erased')
  // The row is empty. Its older version and the log still have the key.
  expect((await filesWith(erased)).length).toBeGreaterThan(0)
  expect(await vault.lastRewrite('org', 'erased')).toEqual({ isAfterErasure: false, ageMs: Infinity })
  expect(await vault.rewriteFiles()).toBe(true)
  expect(await filesWith(erased)).toEqual([])
  expect((await filesWith(living)).length).toBeGreaterThan(0)
  expect(await vault.lastRewrite('org', 'erased')).toMatchObject({ isAfterErasure: true })
  await admin.end()
  await vault.close()
})

it('a backup that still sees the key holds the rewriting up, and nothing else waits', async () => {
  const vault = await openVault({ url: server.url('vault'), masterKeys })
  const admin = new Client({ connectionString: server.url('vault') })
  await admin.connect()
  await vault.subjectKeyForWriting('org', 'seen')
  const { rows } = await admin.query<{ wrapped: Buffer }>(
    `select wrapped from vault_secrets where kind = 'subject' and id = 'org/seen'`,
  )
  const [{ wrapped } = { wrapped: Buffer.from('no key') }] = rows
  // Its snapshot is older than the destruction, and the rewriting would have to keep what it sees.
  const copying = copyVault(server.url('vault'))
  expect((await copying.next()).value?.name).toBe('vault_erasures')
  await vault.eraseSubject('org', 'seen')
  const rewriting = expect(vault.rewriteFiles()).rejects.toMatchObject({ code: '55P03' })
  await vault.subjectKeyForWriting('org', 'new')
  await rewriting
  expect(await vault.lastRewrite('org', 'seen')).toMatchObject({ isAfterErasure: false })
  await copying.return()
  expect(await vault.rewriteFiles()).toBe(true)
  expect(await vault.lastRewrite('org', 'seen')).toMatchObject({ isAfterErasure: true })
  expect(await filesWith(wrapped)).toEqual([])
  await admin.end()
  await vault.close()
})

it('a rewriting may take longer than any other statement', async () => {
  const vault = await openVault({ url: server.url('vault'), masterKeys })
  const pool = createPool({ url: server.url('vault'), max: 1, statementTimeoutMs: 200 })
  const reader = new Client({ connectionString: server.url('vault') })
  await reader.connect()
  await reader.query('begin')
  await reader.query('lock table vault_secrets in access share mode')
  const rewriting = new VaultRows(pool, masterKeys).rewriteFile()
  // The time that a statement waits for a lock counts.
  await setTimeout(400)
  await reader.query('rollback')
  await rewriting
  // The next statement of the connection is limited as before.
  await expect(pool.query('select pg_sleep(1)')).rejects.toThrow(/timeout/)
  await reader.end()
  await pool.end()
  await vault.close()
})

it('a rewriting counts for erasures when the log is switched too', async () => {
  const vault = await openVault({ url: server.url('vault'), masterKeys })
  await vault.subjectKeyForWriting('org', 'logged')
  await vault.eraseSubject('org', 'logged')
  vi.spyOn(VaultRows.prototype, 'switchLog').mockRejectedValueOnce(new Error('killed'))
  await expect(vault.rewriteFiles()).rejects.toThrow('killed')
  expect(await vault.lastRewrite('org', 'logged')).toMatchObject({ isAfterErasure: false })
  expect(await vault.rewriteFiles()).toBe(true)
  expect(await vault.lastRewrite('org', 'logged')).toMatchObject({ isAfterErasure: true })
  await vault.close()
})

it('a rewriting by a clock that was ahead counts for no erasure, and the next one does', async () => {
  const vault = await openVault({ url: server.url('vault'), masterKeys })
  const admin = new Client({ connectionString: server.url('vault') })
  await admin.connect()
  await vault.rewriteFiles()
  await admin.query(`update vault_rewrites set begun_at = clock_timestamp() + interval '1 day'`)
  await vault.subjectKeyForWriting('org', 'later')
  await vault.eraseSubject('org', 'later')
  expect(await vault.lastRewrite('org', 'later')).toEqual({ isAfterErasure: false, ageMs: Infinity })
  await vault.rewriteFiles()
  expect(await vault.lastRewrite('org', 'later')).toMatchObject({ isAfterErasure: true })
  await admin.end()
  await vault.close()
})
