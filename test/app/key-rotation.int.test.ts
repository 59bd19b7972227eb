import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { rotateKeyOf } from '../../app/key-rotation.ts'
import { keepServers } from '../../app/servers-file.ts'
import { loadConfiguration } from '../../platform/configuration/configuration.ts'
import { createMasterKeyFile, parseMasterKeys, type MasterKeyRing } from '../../platform/vault/master-keys.ts'
import { openVault } from '../../platform/vault/vault.ts'
import { freshDatabase, type FreshDatabase } from '../support/postgres.ts'

let database: FreshDatabase
let dataDir: string
beforeEach(async () => {
  ;[database, dataDir] = await Promise.all([freshDatabase(), mkdtemp(join(tmpdir(), 'key-rotation-'))])
})
afterEach(async () => {
  await Promise.all([database.drop(), rm(dataDir, { recursive: true, force: true })])
})

async function expectRotation(masterKeys: MasterKeyRing, env: Readonly<Record<string, string>>): Promise<void> {
  const vault = await openVault({ url: database.vaultUrl, masterKeys })
  try {
    const before = Date.now()
    const rotated = await rotateKeyOf(env, 'token')
    expect(rotated).toMatchObject({ purpose: 'token' })
    expect(Date.parse(rotated.signs_from)).toBeGreaterThanOrEqual(before + 360_000)
    expect((await vault.publicKeys('token')).map(({ kid }) => kid)).toContain(rotated.kid)
    expect((await vault.signingKey('token')).kid).not.toBe(rotated.kid)
  } finally {
    await vault.close()
  }
}

test('keys rotate adds a key, and says from when it signs', async () => {
  const masterKeys = `test:${randomBytes(32).toString('base64')}`
  await expectRotation(parseMasterKeys(masterKeys), {
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
    MASTER_KEYS: masterKeys,
  })
})

test('beside npm start, keys rotate finds the vault and its keys in the data folder', async () => {
  const env = { PLATFORM_DATA_DIR: dataDir }
  await expect(rotateKeyOf(env, 'token')).rejects.toThrow(
    `keys rotate needs DATABASE_URL, VAULT_DATABASE_URL, MASTER_KEYS: set them in the environment; no platform runs over ${dataDir}`,
  )
  const addresses = {
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
    ESDB_URL: 'esdb://127.0.0.1:1',
  }
  await keepServers(loadConfiguration({ ...env, ...addresses }))
  await expectRotation(await createMasterKeyFile(join(dataDir, 'master-keys')), env)
})
