import { decodeProtectedHeader, type JWK } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { authRoutes } from '../../../commands/auth/routes.ts'
import { createTokenIssuer } from '../../../platform/http/tokens.ts'
import { signReceipt, verifyReceipt } from '../../../contracts/consent/receipt.ts'
import { toConsentDecisionRecord } from '../../../contracts/consent/record.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { at, consentFact } from '../../streams/facts.ts'
import { openDecisionWorld, type DecisionWorld } from '../handling/decision-world.ts'

let world: DecisionWorld
let t: TestApplication

beforeAll(async () => {
  world = await openDecisionWorld()
  const tokens = createTokenIssuer({ keys: world.vault, issuer: 'i', audience: 'a', ttlSeconds: 60 })
  t = await startApplication({
    services: [{ prefix: 'auth', documentedAt: 'prefixed', routes: (app) => authRoutes(app, { ...world, tokens }) }],
  })
})

afterAll(async () => {
  await t.app.close()
  await world.close()
})

async function published(): Promise<readonly JWK[]> {
  const answer = await t.app.inject({ url: '/v1/auth/.well-known/jwks.json' })
  return answer.json<{ keys: JWK[] }>().keys
}

it('the published keys verify receipts from before and after a key replacement, and contain no private part', async () => {
  const facts = {
    issuer: 'i',
    record: toConsentDecisionRecord(consentFact('ConsentRecorded').data),
    locale: 'en-GB',
    now: new Date(at(9)),
  }
  const before = await signReceipt(world.vault, facts)
  const first = await published()
  await world.vault.rotateSigningKey('receipt')
  const after = await signReceipt(world.vault, facts)
  const both = await published()

  expect(decodeProtectedHeader(after).kid).not.toBe(decodeProtectedHeader(before).kid)
  for (const receipt of [before, after])
    expect(await verifyReceipt(receipt, both)).toMatchObject({ record: facts.record })
  await expect(verifyReceipt(after, first)).rejects.toMatchObject({ reason: 'unknown-key' })
  expect([first.length, both.length]).toEqual([3, 4])
  expect(both.every((key) => key.d === undefined && key.use === 'sig')).toBe(true)
})
