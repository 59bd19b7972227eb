import { SeededRandom } from 'embedded-eventstore/seeded-random'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consentRecordsProjector } from '../../../projections/consent/consent-records.projector.ts'
import { latestDecisions } from '../../../read-api/consent/queries.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import { at, consentFact, ids } from '../../streams/facts.ts'
import { openReadTables, org, otherOrg, type ReadTables } from '../read-tables.ts'

let tables: ReadTables
beforeAll(async () => {
  tables = await openReadTables([], [consentRecordsProjector])
})
afterAll(() => tables.close())

let next = 0
/** The next decision in the patient's stream. */
function decided(
  decision: 'granted' | 'denied' | 'withdrawn',
  recordedAt: string,
  changes: Partial<ReturnType<typeof consentFact>['data']> = {},
) {
  next += 1
  const consentId = `00000000-0000-4000-8000-${String(next).padStart(12, '0')}`
  const patientId = changes.patientId ?? ids.patient
  const event = consentFact('ConsentRecorded', { consentId, decision, recordedAt, createdAt: at(100), ...changes })
  return { ...event, stream: `consent-${event.data.organisationId}-${patientId}` }
}

async function latest(...decisions: ReturnType<typeof decided>[]) {
  await tables.replaceRows(decisions)
  return latestAsOf(null)
}

async function latestAsOf(asOf: Date | null) {
  const codes = ['ai_analysis', 'research', 'unknown']
  const found = await latestDecisions(tables.pool, org, ids.patient, codes, asOf)
  return Object.fromEntries([...found].map(([code, record]) => [code, record.decision]))
}

describe('the latest decision on a consent', () => {
  it('is the one with the latest instant, in any order of recording', async () => {
    expect(await latest(decided('granted', at(1)), decided('withdrawn', at(3)), decided('granted', at(2)))).toEqual({
      ai_analysis: 'withdrawn',
    })
  })

  it('is the last recorded one among decisions of the same instant', async () => {
    expect(
      await latest(
        decided('granted', at(1)),
        decided('withdrawn', at(1)),
        decided('granted', at(1)),
        decided('denied', at(1)),
      ),
    ).toEqual({ ai_analysis: 'denied' })
  })

  it('as of an instant counts decisions up to that millisecond, in any order of recording', async () => {
    await latest(
      decided('granted', at(1)),
      decided('withdrawn', at(5)),
      decided('denied', at(3)),
      decided('granted', at(5)),
    )
    const asOf = async (instant: string) => (await latestAsOf(new Date(instant)))['ai_analysis']
    expect(await asOf('2026-03-01T10:00:00.999Z')).toBeUndefined()
    expect([await asOf(at(1)), await asOf(at(2)), await asOf(at(3)), await asOf(at(4))]).toEqual([
      'granted',
      'granted',
      'denied',
      'denied',
    ])
    expect([await asOf(at(5)), await asOf(at(1_000))]).toEqual(['granted', 'granted'])
  })

  it('is separate for each consent type', async () => {
    const research = { consentTypeCode: 'research' }
    expect(
      await latest(decided('granted', at(1)), decided('denied', at(2), research), decided('granted', at(1), research)),
    ).toEqual({ ai_analysis: 'granted', research: 'denied' })
  })

  it('counts only decisions of that patient in that organisation', async () => {
    const foreign = [
      decided('withdrawn', at(9), { patientId: ids.otherPatient }),
      decided('withdrawn', at(9), { organisationId: ids.otherOrg }),
    ]
    expect(await latest(decided('granted', at(1)), ...foreign)).toEqual({ ai_analysis: 'granted' })
    const other = await latestDecisions(tables.pool, otherOrg, ids.patient, ['ai_analysis'])
    expect([...other.values()].map(({ decision }) => decision)).toEqual(['withdrawn'])
  })
})

it('is the one that the fold of the patient has, after any decisions', async () => {
  const codes = ['ai_analysis', 'research']
  const random = new SeededRandom(7)
  for (let history = 0; history < 20; history += 1) {
    const decisions = Array.from({ length: 12 }, () =>
      decided(random.pick(['granted', 'denied', 'withdrawn']), at(random.below(4)), {
        consentTypeCode: random.pick(codes),
      }),
    )
    const stored = await latest(...decisions)
    const state = decisions.reduce(
      (folded, event) => consents.of(org, ids.patient).fold.evolve(folded, event),
      consents.initialState,
    )
    const folded = codes.flatMap((code) => {
      const record = state.inForce.get(code)
      return record === undefined ? [] : [[code, record.decision]]
    })
    expect(Object.fromEntries(folded), JSON.stringify(decisions)).toEqual(stored)
  }
})
