import { scryptSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { Accounts, TooManyProofsError } from '../../access/users.ts'
import { hashPassword, isPassword, isPasswordHash } from '../../access/password-hash.ts'

const alice = { kind: 'user', login: 'alice', groups: ['doctors'] }

test('verifies a password by its hash; each hash differs', async () => {
  const [one, other] = [await hashPassword('geheim ✓'), await hashPassword('geheim ✓')]
  expect(one).not.toBe(other)
  expect(
    await Promise.all([
      isPassword('geheim ✓', one),
      isPassword('geheim ✓', other),
      isPassword('geheim', one),
      isPassword('', one),
    ]),
  ).toEqual([true, true, false, false])
})

test.each(['', 'secret', 'scrypt$16384$8$1$', 'bcrypt$1$1$1$aa$bb', 'scrypt$1048576$64$1$c2FsdA$aGFzaA'])(
  'rejects %s as a hash',
  (text) => {
    expect(isPasswordHash(text)).toBe(false)
  },
)

test('verifies the same credentials only once', async () => {
  const accounts = new Accounts([{ login: 'alice', password: await hashPassword('secret'), groups: ['doctors'] }])
  expect(accounts.known('alice', 'secret')).toBeUndefined()
  expect(await accounts.prove('alice', 'wrong')).toBeUndefined()
  expect(await accounts.prove('bob', 'secret')).toBeUndefined()
  expect(await accounts.prove('alice', 'secret')).toEqual(alice)
  expect(accounts.known('alice', 'secret')).toEqual(alice)
  expect(accounts.known('alice', 'wrong')).toBeUndefined()
  expect(await accounts.prove('alice', 'wrong')).toBeUndefined()
})

test('refuses too many unverified passwords at once, then works as before', async () => {
  const quick = scryptSync('secret', 'salt', 32, { N: 16, r: 1, p: 1 }).toString('base64url')
  const accounts = new Accounts([{ login: 'alice', password: `scrypt$16$1$1$c2FsdA$${quick}`, groups: ['doctors'] }])
  const tries = await Promise.allSettled(Array.from({ length: 150 }, (_, n) => accounts.prove('alice', `wrong ${n}`)))
  const putOff = tries.filter((tried) => tried.status === 'rejected')
  expect(putOff).toHaveLength(50)
  expect(putOff.every(({ reason }) => reason instanceof TooManyProofsError)).toBe(true)
  expect(tries.filter((tried) => tried.status === 'fulfilled' && tried.value === undefined)).toHaveLength(100)
  expect(await accounts.prove('alice', 'secret')).toEqual(alice)
})
