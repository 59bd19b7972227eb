import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consentRecordsProjector } from '../../../projections/consent/consent-records.projector.ts'
import { consentTypesProjector } from '../../../projections/consent/consent-types.projector.ts'
import { listDecisions, listDecisionsInForce } from '../../../read-api/consent/queries.ts'
import { consentTypes } from '../../../streams/consent-type/aggregate.ts'
import { at, consentFact, consentTypeFact, ids } from '../../streams/facts.ts'
import type { GivenEvent } from '../../support/given-projector.ts'
import { openReadTables, org, otherOrg, type ReadTables } from '../read-tables.ts'

let tables: ReadTables
beforeAll(async () => {
  tables = await openReadTables([], [consentRecordsProjector, consentTypesProjector])
})
afterAll(() => tables.close())

const id = (group: string, number: number) => `00000000-0000-4000-8${group}00-${String(number).padStart(12, '0')}`
const stream = consentTypes.of(ids.org, ids.consentType).stream

/** A text version by its number, in effect from an instant of the test. */
function text(number: number, effectiveFrom: number, locale = 'en-GB'): GivenEvent {
  return {
    ...consentTypeFact('ConsentTextVersionPublished', {
      textVersionId: id('1', number),
      locale,
      effectiveFrom: at(effectiveFrom),
    }),
    stream,
  }
}

let next = 0
function decided(decision: 'granted' | 'denied' | 'withdrawn', recordedAt: number, textNumber: number): GivenEvent {
  next += 1
  return consentFact('ConsentRecorded', {
    consentId: id('2', next),
    decision,
    recordedAt: at(recordedAt),
    textVersionId: id('1', textNumber),
  })
}

async function given(...events: readonly GivenEvent[]): Promise<void> {
  await tables.replaceRows([{ ...consentTypeFact('ConsentTypeCreated'), stream }, ...events])
}

async function decisionsInForce({ now = 1_000, asOf = null }: { now?: number; asOf?: number | null }, tenant = org) {
  const instants = { asOf: asOf === null ? null : new Date(at(asOf)), now: new Date(at(now)) }
  const { rows } = await listDecisionsInForce(tables.pool, tenant, ids.patient, instants, { after: null, limit: 50 })
  return rows.map(({ consentTypeCode, decision, isTextCurrent }) => [consentTypeCode, decision, isTextCurrent])
}

describe('the decision in force', () => {
  it('has the current text until a later text of the same locale takes effect by time alone', async () => {
    await given(text(1, 0), text(2, 100), decided('granted', 10, 1))
    expect(await decisionsInForce({ now: 99 })).toEqual([['ai_analysis', 'granted', true]])
    expect(await decisionsInForce({ now: 100 })).toEqual([['ai_analysis', 'granted', false]])
    expect(await decisionsInForce({ now: 200, asOf: 99 })).toEqual([['ai_analysis', 'granted', true]])
  })

  it('keeps the current text despite a text of another locale, or one published later with an earlier effect', async () => {
    await given(text(1, 50), text(2, 100, 'fr-FR'), text(3, 20), decided('granted', 60, 1))
    expect(await decisionsInForce({})).toEqual([['ai_analysis', 'granted', true]])
  })

  it('may be on an older text, which is then not current', async () => {
    await given(text(1, 0), text(2, 100), decided('granted', 110, 1))
    expect(await decisionsInForce({})).toEqual([['ai_analysis', 'granted', false]])
  })

  it('is not on the current text if its text is still unknown', async () => {
    await given(decided('granted', 10, 1))
    expect(await decisionsInForce({})).toEqual([['ai_analysis', 'granted', false]])
  })

  it('as of an instant follows the decisions and texts of that instant', async () => {
    await given(text(1, 0), text(2, 100), decided('granted', 10, 1), decided('withdrawn', 150, 2))
    expect(await decisionsInForce({ asOf: 9 })).toEqual([])
    expect(await decisionsInForce({ asOf: 120 })).toEqual([['ai_analysis', 'granted', false]])
    expect(await decisionsInForce({ asOf: 150 })).toEqual([['ai_analysis', 'withdrawn', true]])
  })

  it('is visible to its own organisation only', async () => {
    await given(text(1, 0), decided('granted', 10, 1))
    expect(await decisionsInForce({}, otherOrg)).toEqual([])
  })
})

describe('the history', () => {
  it('is newest first by instant, then by order of recording, and can be of one type', async () => {
    const research = consentFact('ConsentRecorded', {
      consentId: id('3', 1),
      consentTypeCode: 'research',
      recordedAt: at(15),
    })
    await given(decided('granted', 10, 1), decided('withdrawn', 20, 1), decided('denied', 20, 1), research)
    const shown = async (type?: string) => {
      const page = { after: null, limit: 50 }
      const { rows } = await listDecisions(tables, org, ids.patient, { type, page })
      return rows.map(({ consentTypeCode, decision }) => [consentTypeCode, decision])
    }
    const [denied, withdrawn, ofResearch, granted] = [
      ['ai_analysis', 'denied'],
      ['ai_analysis', 'withdrawn'],
      ['research', 'granted'],
      ['ai_analysis', 'granted'],
    ]
    expect(await shown()).toEqual([denied, withdrawn, ofResearch, granted])
    expect(await shown('ai_analysis')).toEqual([denied, withdrawn, granted])
    expect(await shown('unknown')).toEqual([])
  })
})
