import { randomUUID } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { createCaseLookup } from '../../../processes/adapters/case-lookup.ts'
import { startOutsideServer } from '../../support/process-world.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** The patient of a case, by a clinical service that answers with this record. */
async function patientIn(record: object): Promise<string | null> {
  const server = await startOutsideServer(() => ({ status: 200, body: record }))
  const egress = createEgress({ configuration: loadConfiguration({ BASE_URL: server.url }) })
  closing.push(
    () => egress.close(),
    () => server.close(),
  )
  const token = { get: async () => 'token', drop: () => undefined }
  const question = { orgId: tenantOfFact(randomUUID()), caseId: randomUUID() }
  return createCaseLookup({ egress, token }, server.url).patientOf(question, new AbortController().signal)
}

test('the patient of a case at another clinical service has the id that names its key: in lower case', async () => {
  const patientId = randomUUID()
  expect(await patientIn({ patient_id: patientId.toUpperCase() })).toBe(patientId)
})

test.each([
  ['no text', 7],
  ['no UUID', 'patient-7'],
  ['missing', undefined],
])('a case whose patient id is %s is not visible yet', async (_, patientId) => {
  expect(await patientIn({ patient_id: patientId })).toBeNull()
})
