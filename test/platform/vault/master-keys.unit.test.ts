import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMasterKeyFile, MasterKeyError, parseMasterKeys } from '../../../platform/vault/master-keys.ts'

const key = randomBytes(32).toString('base64')

describe('MASTER_KEYS', () => {
  test('the first key wraps, all keys unwrap', () => {
    const ring = parseMasterKeys(` new:${key} , old:${randomBytes(32).toString('base64')}\n`)

    expect(ring.wrapWith.id).toBe('new')
    expect(ring.wrapWith.key.export().toString('base64')).toBe(key)
    expect([...ring.byId.keys()]).toEqual(['new', 'old'])
  })

  test.each([
    ['nothing', '', /no master key/],
    ['no id', key, /master key 1 has no id/],
    ['an id with odd characters', `a b:${key}`, /no id/],
    ['no base64', 'a:$canary$', /\(a\) is not base64/],
    ['a short key', `a:${randomBytes(16).toString('base64')}`, /16 bytes instead of 32/],
    ['a doubled id', `a:${key},a:${key}`, /same id/],
  ])('refuses %s with the reason and without the key', (_, text, message) => {
    expect(() => parseMasterKeys(text)).toThrow(MasterKeyError)
    expect(() => parseMasterKeys(text)).toThrow(message)
    expect(() => parseMasterKeys(text)).not.toThrow(/canary/)
  })
})

describe('the master key file', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'master-key-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('is created once, also by parallel processes, and for its owner only', async () => {
    const path = join(folder, 'master-keys')
    const rings = await Promise.all(Array.from({ length: 10 }, () => createMasterKeyFile(path)))

    expect(new Set(rings.map(({ wrapWith }) => wrapWith.key.export().toString('hex'))).size).toBe(1)
    const { wrapWith: later } = await createMasterKeyFile(path)
    expect(rings[0]?.wrapWith.key.equals(later.key)).toBe(true)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readdir(folder)).toEqual(['master-keys'])
  })

  test('is refused if others may read it', async () => {
    const path = join(folder, 'open-keys')
    await createMasterKeyFile(path)
    await chmod(path, 0o644)
    await expect(createMasterKeyFile(path)).rejects.toThrow(/0600/)
  })
})
