import { decodeProtectedHeader, type JWK } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signReceipt, verifyReceipt } from '../../../contracts/consent/receipt.ts'
import { toConsentDecisionRecord } from '../../../contracts/consent/record.ts'
import { at, consentFact } from '../../streams/facts.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { registerTestClient, startAuthApi, type AuthApi } from './auth-api.ts'

let world: DecisionWorld
let api: AuthApi

beforeAll(async () => {
  world = await openDecisionWorld()
  api = await startAuthApi(world)
})

afterAll(async () => {
  await api.close()
  await world.close()
})

const sixMinutes = 360
const oneDay = 86_400

async function published(): Promise<readonly JWK[]> {
  const answer = await api.t.app.inject({ url: '/v1/auth/.well-known/jwks.json' })
  return answer.json<{ keys: JWK[] }>().keys
}

const kids = async () => (await published()).map(({ kid }) => kid)
const kidOf = (token: string) => decodeProtectedHeader(token).kid

test('a new token key is published before it signs; the old one disappears after its last token', async () => {
  const client = await registerTestClient(world)
  const old = await api.tokenOf(client)
  const { kid } = await world.vault.rotateSigningKey('token')
  expect(await kids()).toContain(kid)
  expect(kidOf(await api.tokenOf(client))).toBe(kidOf(old))

  world.pass(sixMinutes)
  const renewed = await api.tokenOf(client)
  expect(kidOf(renewed)).toBe(kid)
  expect([await api.use(old), await api.use(renewed)]).toEqual([
    [200, undefined],
    [200, undefined],
  ])
  expect(await kids()).toContain(kidOf(old))

  world.pass(oneDay)
  expect(await kids()).toContain(kidOf(old))
  world.pass(60)
  expect(await kids()).not.toContain(kidOf(old))
  expect(await kids()).toContain(kid)
})

test('the published keys verify receipts from before and after a key replacement, and contain no private part', async () => {
  const facts = {
    issuer: 'i',
    record: toConsentDecisionRecord(consentFact('ConsentRecorded').data),
    locale: 'en-GB',
    now: new Date(at(9)),
  }
  const before = await signReceipt(world.vault, facts)
  const first = await published()
  await world.vault.rotateSigningKey('receipt')
  world.pass(sixMinutes + oneDay + 600)
  const after = await signReceipt(world.vault, facts)
  const both = await published()

  expect(kidOf(after)).not.toBe(kidOf(before))
  for (const receipt of [before, after])
    expect(await verifyReceipt(receipt, both)).toMatchObject({ record: facts.record })
  await expect(verifyReceipt(after, first)).rejects.toMatchObject({ reason: 'unknown-key' })
  expect([first.length, both.length]).toEqual([4, 5])
  expect(both.every((key) => key.d === undefined && key.use === 'sig')).toBe(true)
})
