import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { rotateKeyOf } from '../../app/key-rotation.ts'
import { parseMasterKeys } from '../../platform/vault/master-keys.ts'
import { openVault } from '../../platform/vault/vault.ts'
import { freshDatabase } from '../support/postgres.ts'

test('keys rotate adds a key, and says from when it signs', async () => {
  const database = await freshDatabase()
  const masterKeys = `test:${randomBytes(32).toString('base64')}`
  const vault = await openVault({ url: database.vaultUrl, masterKeys: parseMasterKeys(masterKeys) })
  try {
    const before = Date.now()
    const rotated = await rotateKeyOf({ vaultDatabaseUrl: database.vaultUrl, masterKeys }, 'token')
    expect(rotated).toMatchObject({ purpose: 'token' })
    expect(Date.parse(rotated.signs_from)).toBeGreaterThanOrEqual(before + 360_000)
    expect((await vault.publicKeys('token')).map(({ kid }) => kid)).toContain(rotated.kid)
    expect((await vault.signingKey('token')).kid).not.toBe(rotated.kid)
  } finally {
    await vault.close()
    await database.drop()
  }
})
