import { createHmac } from 'node:crypto'
import { assert, property, string } from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fingerprintBody, idempotentId } from '../../../platform/http/idempotency.ts'
import { startApplication, type TestApplication } from './test-application.ts'

const hmac = (bytes: Uint8Array): string => createHmac('sha256', 'pepper').update(bytes).digest('hex')

let t: TestApplication
beforeAll(async () => {
  t = await startApplication()
})
afterAll(() => t.app.close())

async function create(key: string) {
  const response = await t.app.inject({
    method: 'POST',
    url: '/v1/things',
    headers: { ...(await t.token()), 'idempotency-key': key },
    payload: { name: 'x' },
  })
  return response.json<{ id: string; code?: string }>()
}

describe('the key', () => {
  it('may be quoted or not', async () => {
    expect((await create('"abc"')).id).toBe((await create('abc')).id)
  })

  it('stays the same with another token', async () => {
    const first = (await create('abc')).id
    expect((await create('abc')).id).toBe(first)
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5/)
  })

  it.each([
    ['empty', ''],
    ['only quotes', '""'],
    ['with a blank', 'a b'],
    ['of 256 characters', 'x'.repeat(256)],
    ['beyond ASCII', 'caf\u00e9'],
  ])('is refused if it is %s', async (_, key) => {
    expect((await create(key)).code).toBe('idempotency-key-invalid')
  })

  it('takes 255 characters', async () => {
    expect((await create('x'.repeat(255))).code).toBeUndefined()
  })
})

describe('the id', () => {
  it('differs by scope, key and part, whatever their characters are', () => {
    assert(
      property(string(), string(), string(), string(), (scopeA, keyA, scopeB, keyB) => {
        const isSame = scopeA === scopeB && keyA === keyB
        return (
          (idempotentId({ scopeId: scopeA, key: keyA }) === idempotentId({ scopeId: scopeB, key: keyB })) === isSame
        )
      }),
    )
    const one = { scopeId: 's', key: 'k' }
    expect(idempotentId(one, 'patient')).not.toBe(idempotentId(one))
  })
})

describe('the fingerprint', () => {
  it('is equal for equal JSON in another order or notation', () => {
    expect(fingerprintBody({ a: 1, b: [true, 'é'] }, hmac)).toBe(
      fingerprintBody(JSON.parse('{"b":[true,"\\u00e9"],"a":1.0}'), hmac),
    )
    expect(fingerprintBody(undefined, hmac)).toBe(fingerprintBody(null, hmac))
  })

  it('differs for any difference', () => {
    const different = [{ a: 1 }, { a: '1' }, { a: null }, {}, [], { a: 1, b: undefined, c: 2 }].map((body) =>
      fingerprintBody(body, hmac),
    )
    expect(new Set(different).size).toBe(different.length)
  })
})
