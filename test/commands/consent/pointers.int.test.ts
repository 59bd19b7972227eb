import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConsentType, publishTextVersion } from '../../../commands/consent/consent-types.ts'
import { consentWriteRoutes } from '../../../commands/consent/routes.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { consentTypes } from '../../../streams/consent-type/aggregate.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'

const patientId = randomUUID()
const consentTypeId = randomUUID()
const textVersionId = randomUUID()
const tomorrow = '2026-03-02T10:00:00.000Z'

let world: DecisionWorld
let t: TestApplication

beforeAll(async () => {
  world = await openDecisionWorld()
  t = await startApplication({
    services: [{ prefix: 'consent', documentedAt: 'bare', routes: (app) => consentWriteRoutes(app, world) }],
    checkReplies: true,
  })
  const target = consentTypes.of(world.orgId, consentTypeId)
  const now = world.now()
  const type = { code: 'ai', displayName: 'AI', description: null, legalBasis: 'consent', required: true }
  const create = { consentTypeId, organisationId: world.orgId, ...type, now, fingerprint: null }
  const text = { locale: 'en', text: 'Text', contentHash: 'a'.repeat(64), effectiveFrom: new Date(tomorrow) }
  const publish = { consentTypeId, textVersionId, ...text, now, fingerprint: null }
  await execute(world.store, target, (state) => createConsentType(create, state), contextOf(world))
  await execute(world.store, target, (state) => publishTextVersion(publish, state), contextOf(world))
})
afterAll(async () => {
  await t.app.close()
  await world.close()
})

const casings = {
  snake: (member: string) => member,
  camel: (member: string) => member.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
}

describe.each(['snake', 'camel'] as const)('a decision whose members are in %s case', (casing) => {
  const inCasing = casings[casing]
  const right = { consent_type_id: consentTypeId, text_version_id: textVersionId, decision: 'denied' }

  it.each([
    ['a wrong form', { recorded_at: 'yesterday' }, 'validation-failed', ['recorded_at']],
    ['a future instant', { recorded_at: tomorrow }, 'validation-failed', ['recorded_at']],
    ['no type of the organisation', { consent_type_id: randomUUID() }, 'consent-type-not-found', ['consent_type_id']],
    ['a text of no type', { text_version_id: randomUUID() }, 'consent-text-mismatch', ['text_version_id']],
    ['a text that is not in effect', { decision: 'granted' }, 'text-version-not-effective', ['text_version_id']],
    ['an unknown member', { other_member: 1 }, 'validation-failed', ['other_member']],
    [
      'two wrong forms',
      { recorded_by: 1, text_version_id: 1 },
      'validation-failed',
      ['text_version_id', 'recorded_by'],
    ],
  ])('is refused for %s, with the member as it was sent', async (_, wrong, code, members) => {
    const sent = Object.entries({ ...right, ...wrong }).map(([member, value]) => [inCasing(member), value] as const)
    expect(await refusalOf(Object.fromEntries(sent))).toEqual({
      code,
      pointers: members.map((one) => `/${inCasing(one)}`),
    })
  })
})

it('names a member that the body contains in both casings as it was sent the second time', async () => {
  const snake = { consent_type_id: consentTypeId }
  const camel = { consentTypeId }
  expect((await refusalOf({ ...snake, ...camel })).pointers).toEqual(['/consentTypeId'])
  expect((await refusalOf({ ...camel, ...snake })).pointers).toEqual(['/consent_type_id'])
})

it('names a missing member as the documentation does', async () => {
  expect((await refusalOf({ consentTypeId, decision: 'denied' })).pointers).toEqual(['/text_version_id'])
})

async function refusalOf(payload: object): Promise<{ readonly code: unknown; readonly pointers: readonly string[] }> {
  const headers = await t.token({ orgId: world.orgId, scopes: ['consents:write'] })
  const answer = await t.app.inject({ method: 'POST', url: `/v1/patients/${patientId}/consents`, headers, payload })
  const { code, errors = [] } = answer.json<{ code: unknown; errors?: { pointer: string }[] }>()
  return { code, pointers: errors.map(({ pointer }) => pointer) }
}
