import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { EventStoreUnavailableError } from '../../../engine/store/errors.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { createConsentRead } from '../../../processes/adapters/consent-check.ts'

const question = { orgId: tenantOfFact(randomUUID()), patientId: randomUUID(), code: 'ai_analysis' }

function readFailing(error: Error) {
  const load = () => Promise.reject(error)
  return createConsentRead({ load }).check(question, AbortSignal.timeout(10_000))
}

test('an event store that is away gives no permission, and the check is made again', async () => {
  expect(await readFailing(new EventStoreUnavailableError('consent'))).toEqual({
    answer: 'unavailable',
    decisionId: null,
  })
})

test('a fault of the program is no answer', async () => {
  await expect(readFailing(new TypeError('of this test'))).rejects.toThrow('of this test')
})
