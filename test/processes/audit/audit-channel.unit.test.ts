import { describe, expect, it } from 'vitest'
import { publicEvents } from '../../../engine/relay/envelope.ts'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { auditChannel } from '../../../processes/audit/audit.channel.ts'
import type { AccessLogEvent } from '../../../streams/access-log/events.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { accessLogFact, accessLogIds, ofAccessLog } from '../../streams/access-log-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { recorded } from '../../support/given-projector.ts'
import { storeOf } from '../../support/store-of.ts'

async function published(event: AccessLogEvent) {
  const [stored] = recorded([ofAccessLog(event)])
  if (stored === undefined) throw new Error('no event')
  return (await auditChannel.translate[event.type]?.(stored, { store: storeOf([]) })) ?? []
}

describe('the audit channel', () => {
  it('has accesses in an emergency, with ids only', async () => {
    expect(await published(accessLogFact('AccessRecorded', { purpose: 'ETREAT' }))).toEqual([
      {
        type: 'audit.emergency_access',
        occurredAt: at(0),
        schemaVersion: 1,
        data: {
          access_id: accessLogIds.access,
          client_id: ids.client,
          user_id: accessLogIds.user,
          patient_ids: [ids.patient],
          subject_user_id: null,
          operation: 'getAssessment',
          at: at(0),
        },
      },
    ])
  })

  it('has an access of a platform client that named no organisation, without one', async () => {
    const access = ofAccessLog(accessLogFact('AccessRecorded', { purpose: 'ETREAT' }), noOrganisation)
    const [stored] = recorded([access])
    if (stored === undefined) throw new Error('no event')
    const outputs = (await auditChannel.translate['AccessRecorded']?.(stored, { store: storeOf([]) })) ?? []
    const [event] = publicEvents(auditChannel, stored, outputs)
    expect(event?.data).not.toHaveProperty('org_id')
    expect(catalogue.entry(event?.type ?? '')?.refusals(event?.data)).toEqual([])
  })

  it.each([
    ['with another purpose', accessLogFact('AccessRecorded', { purpose: 'TREAT' })],
    ['without a purpose', accessLogFact('AccessRecorded', { purpose: null })],
    ['that is repeated', accessLogFact('AccessRepeated')],
  ])('has no access %s', async (_, event) => {
    expect(await published(event)).toEqual([])
  })
})
