import { afterEach, describe, expect, it } from 'vitest'
import { latestDecisions } from '../../read-api/consent/queries.ts'
import { at, consentFact, ids } from '../streams/facts.ts'
import { openReadTables, org, otherOrg, type ReadTables } from './read-tables.ts'

let tables: ReadTables
afterEach(() => tables.close())

let next = 0
/** A decision as the patient's stream has it, in order. */
function decided(decision: 'granted' | 'denied' | 'withdrawn', recordedAt: string, changes: Partial<ReturnType<typeof consentFact>['data']> = {}) {
  next += 1
  const consentId = `00000000-0000-4000-8000-${String(next).padStart(12, '0')}`
  const patientId = changes.patientId ?? ids.patient
  const event = consentFact('ConsentRecorded', { consentId, decision, recordedAt, createdAt: at(100), ...changes })
  return { ...event, stream: `consent-${event.data.organisationId}-${patientId}` }
}

async function latest(...decisions: ReturnType<typeof decided>[]) {
  tables = await openReadTables(decisions)
  const codes = ['ai_analysis', 'research', 'unknown']
  const found = await latestDecisions(tables.pool, org, ids.patient, codes)
  return Object.fromEntries([...found].map(([code, record]) => [code, record.decision]))
}

describe('the latest decision on a consent', () => {
  it('is the one of the greatest instant, whatever was recorded last', async () => {
    expect(await latest(decided('granted', at(1)), decided('withdrawn', at(3)), decided('granted', at(2)))).toEqual({ ai_analysis: 'withdrawn' })
  })

  it('is the one that was recorded last of those of one instant', async () => {
    expect(await latest(decided('granted', at(1)), decided('withdrawn', at(1)), decided('granted', at(1)), decided('denied', at(1)))).toEqual({ ai_analysis: 'denied' })
  })

  it('is of each type by itself', async () => {
    const research = { consentTypeCode: 'research' }
    expect(await latest(decided('granted', at(1)), decided('denied', at(2), research), decided('granted', at(1), research))).toEqual({ ai_analysis: 'granted', research: 'denied' })
  })

  it('is of that patient in that organisation', async () => {
    const foreign = [decided('withdrawn', at(9), { patientId: ids.otherPatient }), decided('withdrawn', at(9), { organisationId: ids.otherOrg })]
    expect(await latest(decided('granted', at(1)), ...foreign)).toEqual({ ai_analysis: 'granted' })
    const other = await latestDecisions(tables.pool, otherOrg, ids.patient, ['ai_analysis'])
    expect([...other.values()].map(({ decision }) => decision)).toEqual(['withdrawn'])
  })
})
