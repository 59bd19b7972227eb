import { createPublicKey, randomBytes, sign, verify } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Client, Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parseMasterKeys, type MasterKeyRing } from '../../../platform/vault/master-keys.ts'
import { signingKeyOf } from '../../../platform/vault/signing-keys.ts'
import { openVault, type Vault } from '../../../platform/vault/vault.ts'
import { firstEventKey, MissingKeyError, type SubjectKey } from '../../../platform/kit/key-vault.ts'
import { freshVault, type FreshDatabase } from '../../support/postgres.ts'

let database: FreshDatabase
const firstKey = `first:${randomBytes(32).toString('base64')}`
const masterKeys = parseMasterKeys(firstKey)

beforeAll(async () => {
  database = await freshVault()
})

afterAll(async () => {
  await database.drop()
})

async function open(ring: MasterKeyRing = masterKeys, now = () => new Date()): Promise<Vault & AsyncDisposable> {
  const vault = await openVault({ url: database.url, masterKeys: ring, now })
  return Object.assign(vault, { [Symbol.asyncDispose]: () => vault.close() })
}

async function rows(): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  try {
    return (await client.query('select * from vault_secrets order by kind, id')).rows
  } finally {
    await client.end()
  }
}

/** The bytes of a key in hex: `toEqual` does not compare key objects. */
function bytesOf(key: SubjectKey | undefined): string {
  return typeof key === 'object' ? key.export().toString('hex') : String(key)
}

/** The clock of this process stands still, and `pass` moves it. */
async function withClock<Result>(work: (pass: (ms: number) => Promise<void>) => Promise<Result>): Promise<Result> {
  let nowMs = performance.now()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  try {
    return await work(async (ms) => {
      nowMs += ms
      await vi.advanceTimersByTimeAsync(ms)
    })
  } finally {
    clock.mockRestore()
    vi.useRealTimers()
  }
}

describe('subject keys', () => {
  test('a key is created once, stored, and the same for every process', async () => {
    await using one = await open()
    await using two = await open()
    const keys = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : two).subjectKeyForWriting('org', 'p1')),
    )

    const [key = ''] = keys.map(bytesOf)
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    expect(new Set(keys.map(bytesOf))).toEqual(new Set([key]))
    await using later = await open()
    expect(later.cachedSubjectKey('org', 'p1')).toBeUndefined()
    expect(bytesOf(await later.subjectKeyForReading('org', 'p1'))).toBe(key)
    expect(bytesOf(later.cachedSubjectKey('org', 'p1'))).toBe(key)
  })

  test('each subject of each organisation has its own key', async () => {
    await using vault = await open()
    const keys = await Promise.all([
      vault.subjectKeyForWriting('org', 'p2'),
      vault.subjectKeyForWriting('other', 'p2'),
      vault.subjectKeyForWriting('org', 'p3'),
    ])
    expect(new Set(keys.map(bytesOf)).size).toBe(3)
  })

  test('many keys requested at once are all read', async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `many-${index}`)
    await using writer = await open()
    const written = await Promise.all(ids.map((id) => writer.subjectKeyForWriting('org', id)))
    const pool = new Pool({ connectionString: database.url, max: 2 })
    const vault = await openVault({ url: database.url, masterKeys, pool })
    const read = await Promise.all(ids.map((id) => vault.subjectKeyForReading('org', id)))
    expect(read.map(bytesOf)).toEqual(written.map(bytesOf))
    await pool.end()
  })

  test('a key that was never created is missing, not destroyed', async () => {
    await using vault = await open()
    await expect(vault.subjectKeyForReading('org', 'nobody')).rejects.toThrow(MissingKeyError)
  })

  test('a destroyed key is wiped, stays destroyed and cannot be created again', async () => {
    await using vault = await open()
    await vault.subjectKeyForWriting('org', 'erased')
    await vault.destroySubject('org', 'erased')
    await vault.destroySubject('org', 'never-there')

    await using later = await open()
    for (const reader of [vault, later]) {
      expect(await reader.subjectKeyForReading('org', 'erased')).toBe('destroyed')
      expect(await reader.subjectKeyForWriting('org', 'erased')).toBe('destroyed')
      expect(await reader.subjectKeyForWriting('org', 'never-there')).toBe('destroyed')
    }
    const erased = (await rows()).filter(({ id }) => id === 'org/erased')
    expect(erased).toMatchObject([{ wrapped: null, destroyed_at: expect.any(Date) }])
  })

  test('a closed key encrypts nothing more, and opens what it encrypted', async () => {
    await using vault = await open()
    const key = await vault.subjectKeyForWriting('org', 'closing')
    vault.closeSubject('org', 'closing')
    expect(await vault.subjectKeyForWriting('org', 'closing')).toBe('destroyed')
    expect(bytesOf(await vault.subjectKeyForReading('org', 'closing'))).toEqual(bytesOf(key))
    expect([vault.isClosed('org', 'closing'), vault.isClosed('other', 'closing')]).toEqual([true, false])
    expect(vault.closedOf('org')).toEqual(['closing'])
  })

  test('an erasure is entered once, with a signature that no other entry has', async () => {
    await using vault = await open()
    await vault.subjectKeyForWriting('org', 'entered')
    const entry = await vault.eraseSubject('org', 'entered')
    expect(await vault.eraseSubject('org', 'entered')).toEqual(entry)
    expect(await vault.subjectKeyForReading('org', 'entered')).toBe('destroyed')
    expect(vault.isSigned(entry)).toBe(true)
    expect(vault.isSigned({ ...entry, subjectId: 'another' })).toBe(false)
    const listed = []
    for await (const one of vault.erasures()) listed.push(one)
    expect(listed).toEqual([entry])
  })

  test('a key that another process erases is not used here any more, even if a read of it is under way', async () => {
    await using eraser = await open()
    await using other = await open()
    await eraser.subjectKeyForWriting('org', 'leaving')
    const reading = other.subjectKeyForReading('org', 'leaving')
    other.forgetSubject('org', 'leaving')
    expect(await reading).toBe('destroyed')
    expect(other.cachedSubjectKey('org', 'leaving')).toBe('destroyed')
  })
})

describe('secrets', () => {
  test('a secret is created on first use, with its kind’s length, and never changes', async () => {
    await using one = await open()
    await using two = await open()
    const [webhook, again] = await Promise.all([one.secret('webhook', 's1'), two.secret('webhook', 's1')])

    expect(webhook).toHaveLength(24)
    expect(again).toEqual(webhook)
    expect(await one.secret('cursor', 'current')).toHaveLength(32)
    expect(await one.secret('webhook', 's2')).not.toEqual(webhook)
  })

  test('a secret from outside is stored, and can be replaced', async () => {
    await using vault = await open()
    await vault.putSecret('webhook', 'chosen', new Uint8Array([1, 2, 3]))
    await vault.putSecret('webhook', 'chosen', new Uint8Array([4, 5, 6]))

    await using later = await open()
    expect(await vault.secret('webhook', 'chosen')).toEqual(new Uint8Array([4, 5, 6]))
    expect(await later.secret('webhook', 'chosen')).toEqual(new Uint8Array([4, 5, 6]))
  })

  test('a secret in an event is read and never created', async () => {
    await using vault = await open()
    const stored = (await rows()).length
    for (let asked = 0; asked < 2; asked += 1)
      await expect(vault.storedSecret('webhook', 'lost')).rejects.toThrow(MissingKeyError)
    expect(await rows()).toHaveLength(stored)
    const made = await vault.secret('webhook', 'found')
    await using later = await open()
    expect([await vault.storedSecret('webhook', 'found'), await later.storedSecret('webhook', 'found')]).toEqual([
      made,
      made,
    ])
  })

  test('a key pair for webhooks is a secret too, the same for every process', async () => {
    await using one = await open()
    await using two = await open()
    const [made, again] = await Promise.all([
      one.secret('webhook-signing', 'pair'),
      two.secret('webhook-signing', 'pair'),
    ])
    expect(again).toEqual(made)
    expect((await signingKeyOf(made)).publicJwk).toMatchObject({ kty: 'OKP', crv: 'Ed25519' })
  })

  test('the event signing key and fingerprints are the same after a restart', async () => {
    await using one = await open()
    await using two = await open()

    const [first, ...others] = await one.eventKeys()
    expect([first?.id, others, first?.end]).toEqual(['first', [], undefined])
    expect((await two.eventKeys()).map(({ key }) => bytesOf(key))).toEqual(
      [first].map((one) => one && bytesOf(one.key)),
    )
    expect(one.fingerprint('body')).toMatch(/^[0-9a-f]{64}$/)
    expect(two.fingerprint(Buffer.from('body'))).toBe(one.fingerprint('body'))
    expect(one.fingerprint('other')).not.toBe(one.fingerprint('body'))
  })

  test('nothing is stored unwrapped', async () => {
    await using vault = await open()
    const secret = await vault.secret('webhook', 'hidden')
    const stored = JSON.stringify(
      (await rows()).map(({ wrapped }) => (wrapped === null ? '' : Buffer.from(wrapped as Buffer).toString('hex'))),
    )
    expect(stored).not.toContain(Buffer.from(secret).toString('hex'))
  })
})

describe('the copy of a secret in memory', () => {
  const collectGarbage = () => {
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
  }

  /** Whether it is still in memory after this time without a read. */
  async function isHeldAfter(ms: number): Promise<boolean> {
    return withClock(async (pass) => {
      await using vault = await open()
      const copy = new WeakRef(await vault.secret('webhook', `copied ${ms}`))
      await pass(ms)
      await nextTurn()
      collectGarbage()
      return copy.deref() !== undefined
    })
  }

  test('is gone after half a minute, so a secret that another process destroyed remains nowhere', async () => {
    expect(await isHeldAfter(20_000)).toBe(true)
    expect(await isHeldAfter(31_000)).toBe(false)
  })
})

describe('signing keys', () => {
  test('processes that start at once sign with one key, and its public half verifies', async () => {
    await using one = await open()
    await using two = await open()
    const [key, same] = await Promise.all([one.signingKey('token'), two.signingKey('token')])

    expect(same.kid).toBe(key.kid)
    expect(key.publicJwk).toMatchObject({ kty: 'OKP', crv: 'Ed25519', kid: key.kid, alg: 'EdDSA', use: 'sig' })
    expect(key.publicJwk).not.toHaveProperty('d')
    const { kty = '', crv = '', x = '' } = key.publicJwk
    const publicKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' })
    expect(verify(null, Buffer.from('m'), publicKey, sign(null, Buffer.from('m'), key.privateKey))).toBe(true)
  })

  test.each(['receipt', 'actor-context', 'provenance'] as const)(
    'a new key of purpose %s is published in every process before it signs; purposes share no keys',
    async (purpose) => {
      let ahead = 0
      const now = () => new Date(Date.now() + ahead)
      await using vault = await open(masterKeys, now)
      await using other = await open(masterKeys, now)
      const before = await vault.signingKey(purpose)
      const rotated = await vault.rotateSigningKey(purpose)
      const kids = async (each: Vault) => (await each.publicKeys(purpose)).map(({ kid }) => kid)

      expect((await vault.signingKey(purpose)).kid).toBe(before.kid)
      expect([await kids(vault), await kids(other)]).toEqual([
        [rotated.kid, before.kid],
        [rotated.kid, before.kid],
      ])
      ahead = 6 * 60_000
      expect((await vault.signingKey(purpose)).kid).toBe(rotated.kid)
      expect((await other.signingKey(purpose)).kid).toBe(rotated.kid)
      ahead = 2 * 86_400_000
      expect(await kids(vault)).toEqual(purpose === 'actor-context' ? [rotated.kid] : [rotated.kid, before.kid])
      expect((await vault.publicKeys('token')).map(({ kid }) => kid)).not.toContain(before.kid)
    },
  )

  test('a process that has read the keys publishes a new one of another process half a minute later', async () => {
    await withClock(async (pass) => {
      await using vault = await open()
      await using other = await open()
      const kids = async () => (await other.publicKeys('token')).map(({ kid }) => kid)
      const before = await kids()
      const { kid } = await vault.rotateSigningKey('token')
      expect(await kids()).toEqual(before)
      await pass(31_000)
      expect(await kids()).toEqual([kid, ...before])
    })
  })

  test('a rotation before the first key was needed leaves one key to sign at once', async () => {
    const fresh = await freshVault()
    const vault = await openVault({ url: fresh.url, masterKeys })
    try {
      const rotated = await vault.rotateSigningKey('token')
      const signing = await vault.signingKey('token')
      expect(signing.kid).not.toBe(rotated.kid)
      expect((await vault.publicKeys('token')).map(({ kid }) => kid)).toEqual([rotated.kid, signing.kid])
    } finally {
      await vault.close()
      await fresh.drop()
    }
  })
})

test('a rotated key is newer than one that was made by a clock which was ahead', async () => {
  const fresh = await freshVault()
  const vault = await openVault({ url: fresh.url, masterKeys })
  const client = new Client({ connectionString: fresh.url })
  await client.connect()
  try {
    await vault.eventKeys()
    await vault.secretsOf('unsubscribe')
    const signing = await vault.signingKey('token')
    await client.query(`update vault_secrets set created_at = created_at + interval '1 hour'`)
    const [eventKey, secretId, { kid }] = [
      await vault.rotateEventKey(),
      await vault.rotateSecret('unsubscribe'),
      await vault.rotateSigningKey('token'),
    ]
    expect((await vault.eventKeys()).map(({ id }) => id)).toEqual([eventKey, firstEventKey])
    const { rows: secrets } = await client.query<{ id: string }>(
      `select id from vault_secrets where kind = 'unsubscribe' order by created_at desc`,
    )
    expect(secrets.map(({ id }) => id)).toEqual([secretId, 'current'])
    expect((await vault.publicKeys('token')).map((key) => key.kid)).toEqual([kid, signing.kid])
  } finally {
    await client.end()
    await vault.close()
    await fresh.drop()
  }
})

describe('the record of the sealed log', () => {
  test('is replaced only by who read the present version, in any process', async () => {
    await using vault = await open()
    await using other = await open()
    expect(await vault.record('sealed-log')).toBeUndefined()
    const first = await vault.replaceRecord('sealed-log', undefined, Buffer.from('one'))
    expect(await other.replaceRecord('sealed-log', undefined, Buffer.from('lost'))).toBeUndefined()
    const seen = await other.record('sealed-log')
    expect(Buffer.from(seen?.bytes ?? '').toString()).toBe('one')
    const second = await vault.replaceRecord('sealed-log', first, Buffer.from('two'))
    expect(second).toBeDefined()
    expect(await other.replaceRecord('sealed-log', seen, Buffer.from('lost'))).toBeUndefined()
    expect(Buffer.from((await other.record('sealed-log'))?.bytes ?? '').toString()).toBe('two')
  })

  test('has one key for each log, the same in every process, and none before the first seal', async () => {
    await using vault = await open()
    await using other = await open()
    expect(await vault.sealKeys()).toEqual([])
    const keys = await Promise.all([vault.sealKey(1), other.sealKey(1), vault.sealKey(2)])
    const exported = keys.map((key) => key.export({ type: 'pkcs8', format: 'pem' }))
    expect(exported[0]).toBe(exported[1])
    expect(exported[2]).not.toBe(exported[0])
    expect((await other.sealKeys()).map(({ generation }) => generation)).toEqual([2, 1])
  })
})

describe('master keys', () => {
  test('a new first key wraps new secrets, and the old one still unwraps older ones', async () => {
    await using old = await open()
    const secret = await old.secret('webhook', 'rotated')
    const ring = parseMasterKeys(`second:${randomBytes(32).toString('base64')},${firstKey}`)
    await using vault = await open(ring)

    expect(await vault.secret('webhook', 'rotated')).toEqual(secret)
    await vault.secret('webhook', 'after-rotation')
    expect((await rows()).find(({ id }) => id === 'after-rotation')).toMatchObject({ master_key_id: 'second' })
    await expect(old.secret('webhook', 'after-rotation')).rejects.toThrow(/needs master key second/)
    await expect(open()).rejects.toThrow(/needs master key second/)
    await vault.destroySecret('webhook', 'after-rotation')
  })

  test('another key with the same id unwraps nothing', async () => {
    await expect(open(parseMasterKeys(`first:${randomBytes(32).toString('base64')}`))).rejects.toThrow(/does not open/)
  })

  test('rows cannot be swapped', async () => {
    await using vault = await open()
    await vault.secret('webhook', 'mine')
    await vault.secret('webhook', 'yours')
    const client = new Client({ connectionString: database.url })
    await client.connect()
    await client.query(
      `update vault_secrets set wrapped = (select wrapped from vault_secrets where id = 'yours') where id = 'mine'`,
    )
    await client.end()
    await using later = await open()
    await expect(later.secret('webhook', 'mine')).rejects.toThrow(/does not open/)
  })
})
