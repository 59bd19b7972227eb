import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { createContextTokens } from '../../../platform/http/context-tokens.ts'
import { newSigningSecret, signingKeyOf } from '../../../platform/vault/signing-keys.ts'

const ttlSeconds = 300
const start = Date.parse('2026-01-02T03:04:05.678Z')

async function openTokens() {
  let key = await signingKeyOf(newSigningSecret())
  let nowMs = start
  const tokens = createContextTokens({
    keys: { signingKey: async () => key },
    ttlSeconds,
    now: () => new Date(nowMs),
  })
  return {
    tokenOf: async (claims: object) => tokens.tokenOf({ ...claims }),
    passTo: (seconds: number) => (nowMs = start + seconds * 1000),
    rotate: async () => (key = await signingKeyOf(newSigningSecret())),
  }
}

test('equal claims get the same token until half of its life has passed', async () => {
  const { tokenOf, passTo } = await openTokens()
  const first = await tokenOf({ role: 'Nurse' })
  expect(decodeJwt(first.token)).toEqual({
    role: 'Nurse',
    iat: first.issuedAt.getTime() / 1000,
    exp: first.issuedAt.getTime() / 1000 + ttlSeconds,
  })
  passTo(149)
  expect(await tokenOf({ role: 'Nurse' })).toEqual(first)
  passTo(150)
  const second = await tokenOf({ role: 'Nurse' })
  expect(second.issuedAt.getTime() - first.issuedAt.getTime()).toBe(150_000)
  expect(decodeJwt(second.token)).toMatchObject({ iat: second.issuedAt.getTime() / 1000 })
  // A clock that was set back must not get a token from the future.
  passTo(-10)
  expect((await tokenOf({ role: 'Nurse' })).issuedAt.getTime()).toBeLessThan(start)
})

test('other claims and another key get another token at once', async () => {
  const { tokenOf, rotate } = await openTokens()
  const first = await tokenOf({ permissions: ['users:admin'] })
  expect((await tokenOf({ permissions: [] })).token).not.toBe(first.token)
  await rotate()
  expect((await tokenOf({ permissions: ['users:admin'] })).token).not.toBe(first.token)
})

test('equal claims at the same time are signed once', async () => {
  const { tokenOf } = await openTokens()
  const [one, other] = await Promise.all([tokenOf({ role: 'Nurse' }), tokenOf({ role: 'Nurse' })])
  expect(one).toBe(other)
})
