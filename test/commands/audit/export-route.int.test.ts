import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { auditExportsProjector } from '../../../projections/audit/audit-exports.projector.ts'
import { auditSubjectsProjector } from '../../../projections/audit/audit-subjects.projector.ts'
import { auditExports } from '../../../streams/audit-export/aggregate.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { openUsersApi, outcomeOf, type UsersApi, type UsersProcess } from '../../read-api/users/users-api.ts'
import { exportFact } from '../../streams/audit-export-facts.ts'
import { consentFact, patientFact } from '../../streams/facts.ts'

let api: UsersApi
let process: UsersProcess
let headers: Readonly<Record<string, string>>
beforeAll(async () => {
  api = await openUsersApi({ services: ['audit'], moreReadModels: [auditExportsProjector, auditSubjectsProjector] })
  process = await api.startProcess({})
  headers = await api.token(api.world.orgId, ['audit:export', 'audit:read-phi'])
})
afterAll(() => api.close())

async function givenPatient(): Promise<string> {
  const patientId = randomUUID()
  const { orgId } = api.world
  const person = { givenName: 'Ada', familyName: 'Canary', dob: '1970-02-28', identifiers: [] }
  await api.append(
    patients.of(orgId, patientId),
    patientFact('PatientRegistered', { patientId, organisationId: orgId, person }),
  )
  return patientId
}

async function asked(patientId: string, key: string) {
  const { statusCode: status, body: text } = await process.t.app.inject({
    method: 'POST',
    url: '/v1/audit/exports',
    headers: { ...headers, 'idempotency-key': key },
    payload: { patient_id: patientId },
  })
  const body: { readonly id?: string } = JSON.parse(text)
  return { status, etag: undefined, body, id: body.id ?? '' }
}

it('a key with another patient is refused, and the read model goes on', async () => {
  const [one, other] = [await givenPatient(), await givenPatient()]
  const key = randomUUID()
  const first = await asked(one, key)
  expect(first).toMatchObject({ status: 202, body: { patient_id: one, status: 'running' } })
  expect(outcomeOf(await asked(other, key))).toBe('409 idempotency-key-reused')
  expect(await asked(other, randomUUID())).toMatchObject({ status: 202, body: { patient_id: other } })
  expect(await asked(one, key)).toMatchObject({ status: 202, id: first.id })
})

it('a key is repeated after its export was removed, and begins no second one with the same id', async () => {
  const patientId = await givenPatient()
  const key = randomUUID()
  const { id: exportId } = await asked(patientId, key)
  const target = auditExports.of(api.world.orgId, patientId)
  await api.append(target, exportFact('AuditExportFinished', { exportId, patientId }))
  await api.append(target, exportFact('AuditExportRemoved', { exportId }))
  expect(await asked(patientId, key)).toMatchObject({ status: 202, id: exportId, body: { status: 'finished' } })
  const { revision } = await api.world.store.load(target)
  expect(revision).toBe(2n)
  expect(await asked(patientId, randomUUID())).toMatchObject({ status: 202, body: { status: 'running' } })
})

it('a person of whom only consents are known is exported, and nobody else without a registration', async () => {
  const patientId = randomUUID()
  const { orgId } = api.world
  await api.append(consents.of(orgId, patientId), consentFact('ConsentRecorded', { patientId, organisationId: orgId }))
  expect(await asked(patientId, randomUUID())).toMatchObject({ status: 202, body: { patient_id: patientId } })
  expect(outcomeOf(await asked(randomUUID(), randomUUID()))).toBe('404 patient-not-found')
})
