import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { imageWriteRoutes } from '../../../commands/images/routes.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { caseFact } from '../../streams/facts.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'

let world: ProcessWorld
let t: TestApplication

beforeAll(async () => {
  world = await openProcessWorld()
  const routes = (scope: Parameters<typeof imageWriteRoutes>[0]) => imageWriteRoutes(scope, world.deps)
  t = await startApplication({ services: [{ prefix: 'clinical-api', documentedAt: 'prefixed', routes }] })
})
afterAll(async () => {
  await t.app.close()
  await world.close()
})

it('answers a repeat with the image, also after its case was closed', async () => {
  const caseId = randomUUID()
  const target = cases.of(world.orgId, caseId)
  const opened = caseFact('CaseOpened', { caseId, organisationId: world.orgId })
  await world.store.append(target, 'no_stream', [opened], contextOf(world))
  const caller = await t.token({ orgId: world.orgId, scopes: ['images:write'] })
  const declare = async (key: string) => {
    const payload = { case_id: caseId, capture_type: 'dermoscopic', mime_type: 'image/jpeg' }
    const headers = { ...caller, 'idempotency-key': key }
    const answer = await t.app.inject({ method: 'POST', url: '/v1/clinical-api/images', headers, payload })
    const { id, code }: Readonly<Record<string, unknown>> = answer.json()
    return { status: answer.statusCode, id, code, isReplayed: answer.headers['idempotency-replayed'] === 'true' }
  }
  const [key, other] = [randomUUID(), randomUUID()]
  const first = await declare(key)
  expect(first).toMatchObject({ status: 201, isReplayed: false })
  await world.store.append(target, 0n, [caseFact('CaseClosed', { caseId })], contextOf(world))
  expect(await declare(key)).toEqual({ ...first, isReplayed: true })
  expect(await declare(other)).toMatchObject({ status: 409, code: 'case-closed' })
})
