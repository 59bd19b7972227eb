import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { verifyReceipt } from '../../../contracts/consent/receipt.ts'
import { expecting } from '../../support/main-job.ts'
import { startTestPlatform } from '../../support/platform.ts'
import { openConsentWorld } from './consent-world.ts'

test('keys after a restart verify receipts from before', async () => {
  const platform = await startTestPlatform()
  try {
    const world = await openConsentWorld(platform)
    const patientId = randomUUID()
    const decided = await expecting(201, world.decide(patientId, await world.terms('research'), 'granted'))
    const path = `/v1/patients/${patientId}/consents/${textAt(decided.body, 'id')}/receipt`
    const receipt = textAt((await expecting(200, world.api.call(path))).body, 'receipt')
    await platform.restart()
    const keys: unknown = await (await fetch(`${platform.baseUrl}/v1/auth/.well-known/jwks.json`)).json()
    expect(await verifyReceipt(receipt, Object(at(keys, 'keys')))).toMatchObject({ record: decided.body })
  } finally {
    await platform.stop()
  }
})
