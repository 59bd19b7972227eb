import { describe, expect, it } from 'vitest'
import {
  createConsentType,
  deleteConsentType,
  publishTextVersion,
  updateConsentType,
  useConsentType,
} from '../../../commands/consent/consent-types.ts'
import { recordConsent, type RecordConsent } from '../../../commands/consent/record-consent.ts'
import { consentTypes, isDefined, type DefinedConsentType } from '../../../streams/consent-type/aggregate.ts'
import { consents, keyedDecision } from '../../../streams/consent/aggregate.ts'
import { at, consentFact, consentTypeFact as typeFact, hash, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const created = typeFact('ConsentTypeCreated')
const published = typeFact('ConsentTextVersionPublished')
const used = typeFact('ConsentTypeUsed')
const deleted = typeFact('ConsentTypeDeleted')

function definedType(...later: (typeof published)[]): DefinedConsentType {
  const { state } = given(consentTypes, created, ...later)
  if (!isDefined(state)) throw new Error('not defined')
  return state
}

describe('creating a consent type', () => {
  const { createdAt: _, ...data } = created.data
  const command = { ...data, now: new Date(at(0)) }

  it('takes the code; the same keyed request again does nothing', () => {
    const keyed = { ...command, fingerprint: hash('f') }
    given(consentTypes)
      .when(createConsentType, keyed)
      .thenEvents([typeFact('ConsentTypeCreated', { fingerprint: hash('f') })])
  })

  it('refuses a code that is taken, by another request or by one without a key', () => {
    given(consentTypes).when(createConsentType, command).thenEvents([created], 'consent-type-code-in-use')
    given(consentTypes, typeFact('ConsentTypeCreated', { fingerprint: hash('e') }))
      .when(createConsentType, { ...command, fingerprint: hash('f') })
      .thenRefused('consent-type-code-in-use')
  })
})

describe('changing a consent type', () => {
  const updated = typeFact('ConsentTypeUpdated')
  const unchanged = { displayName: undefined, description: undefined, required: undefined, now: new Date(at(3)) }

  it('records the new description, once', () => {
    const { displayName, description, required } = updated.data
    given(consentTypes, created, used)
      .when(updateConsentType, { ...unchanged, displayName, description, required })
      .thenEvents([updated])
  })

  it('keeps omitted members, and removes a description that is null', () => {
    const named = typeFact('ConsentTypeUpdated', {
      description: created.data.description,
      required: created.data.required,
    })
    given(consentTypes, created)
      .when(updateConsentType, { ...unchanged, displayName: updated.data.displayName })
      .thenEvents([named])
    const bare = typeFact('ConsentTypeUpdated', { description: null })
    given(consentTypes, created, updated)
      .when(updateConsentType, { ...unchanged, description: null })
      .thenEvents([bare])
  })

  it('does nothing without a change, and refuses a type that does not exist or was deleted', () => {
    given(consentTypes, created).when(updateConsentType, unchanged).thenNothing()
    given(consentTypes).when(updateConsentType, unchanged).thenRefused('not-found')
    given(consentTypes, created, deleted).when(updateConsentType, unchanged).thenRefused('not-found')
  })
})

describe('deleting a consent type', () => {
  const command = { now: new Date(at(4)) }

  it('deletes a type without decisions, which then does not exist', () => {
    given(consentTypes, created, published).when(deleteConsentType, command).thenEvents([deleted], 'not-found')
    given(consentTypes).when(deleteConsentType, command).thenRefused('not-found')
  })

  it('refuses a used type, and a decision on a deleted one', () => {
    given(consentTypes, created, used).when(deleteConsentType, command).thenRefused('consent-type-in-use')
    given(consentTypes, created, deleted).when(useConsentType, command).thenRefused('consent-type-not-found')
  })

  it('frees no code, and the request that took it keeps its answer', () => {
    const { createdAt: _, ...data } = created.data
    const create = { ...data, now: new Date(at(5)) }
    given(consentTypes, created, deleted).when(createConsentType, create).thenRefused('consent-type-code-in-use')
    const keyed = typeFact('ConsentTypeCreated', { fingerprint: hash('f') })
    given(consentTypes, keyed, deleted)
      .when(createConsentType, { ...create, fingerprint: hash('f') })
      .thenNothing()
  })

  it('accepts no more texts, and the request that published one keeps its answer', () => {
    const { createdAt: _, ...data } = published.data
    const command = { ...data, effectiveFrom: null, now: new Date(at(5)), fingerprint: hash('f') }
    given(consentTypes, created, deleted).when(publishTextVersion, command).thenRefused('not-found')
    const keyed = typeFact('ConsentTextVersionPublished', { fingerprint: hash('f') })
    given(consentTypes, created, keyed, deleted).when(publishTextVersion, command).thenNothing()
  })
})

describe('publishing a text version', () => {
  const { createdAt: _, ...data } = published.data
  const command = { ...data, effectiveFrom: new Date(at(1)), now: new Date(at(1)), fingerprint: hash('f') }
  const keyed = typeFact('ConsentTextVersionPublished', { fingerprint: hash('f') })

  it('adds it once', () => {
    given(consentTypes, created).when(publishTextVersion, command).thenEvents([keyed])
  })

  it('takes effect at once without an instant', () => {
    given(consentTypes, created)
      .when(publishTextVersion, { ...command, effectiveFrom: null })
      .thenEvents([keyed])
  })

  it('refuses more than 1,000 texts', () => {
    const texts = Array.from({ length: 1_000 }, (_, n) =>
      typeFact('ConsentTextVersionPublished', { textVersionId: `text-${n}`, effectiveFrom: at(n + 10) }),
    )
    const [, ...fewer] = texts
    given(consentTypes, created, ...texts)
      .when(publishTextVersion, command)
      .thenRefused('text-version-limit')
    given(consentTypes, created, ...fewer)
      .when(publishTextVersion, command)
      .thenEvents([keyed])
  })

  it('refuses the same locale from the same instant, and allows another locale or instant', () => {
    const other = { ...command, textVersionId: ids.event }
    given(consentTypes, created, keyed).when(publishTextVersion, other).thenRefused('text-version-exists')
    const french = typeFact('ConsentTextVersionPublished', {
      textVersionId: ids.event,
      locale: 'fr-FR',
      fingerprint: hash('f'),
    })
    given(consentTypes, created, keyed)
      .when(publishTextVersion, { ...other, locale: 'fr-FR' })
      .thenEvents([french])
    const later = typeFact('ConsentTextVersionPublished', {
      textVersionId: ids.event,
      effectiveFrom: at(2),
      fingerprint: hash('f'),
    })
    given(consentTypes, created, keyed)
      .when(publishTextVersion, { ...other, effectiveFrom: new Date(at(2)) })
      .thenEvents([later])
  })

  it('refuses a type that does not exist, and another body under the same key', () => {
    given(consentTypes).when(publishTextVersion, command).thenRefused('not-found')
    given(consentTypes, created, keyed)
      .when(publishTextVersion, { ...command, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })
})

describe('using a consent type', () => {
  it('is recorded once, before its first decision', () => {
    given(consentTypes, created, published)
      .when(useConsentType, { now: new Date(at(2)) })
      .thenEvents([used])
    given(consentTypes)
      .when(useConsentType, { now: new Date(at(2)) })
      .thenRefused('consent-type-not-found')
  })
})

describe('recording a decision on consent', () => {
  const consentType = definedType(published)
  const recorded = consentFact('ConsentRecorded', { recordedAt: at(5), createdAt: at(5) })
  const command: RecordConsent = {
    consentId: ids.consent,
    patientId: ids.patient,
    consentType,
    textVersionId: ids.textVersion,
    decision: 'granted',
    recordedBy: 'Dr Canary',
    recordedAt: null,
    now: new Date(at(5)),
    fingerprint: null,
  }
  const keyed = { ...command, fingerprint: hash('f') }
  const keyedRecord = consentFact('ConsentRecorded', { ...recorded.data, fingerprint: hash('f') })

  it('records it; the same keyed request again does nothing', () => {
    given(consents).when(recordConsent, keyed).thenEvents([keyedRecord])
  })

  it('records a repeat of the latest decision like any other, if it has no key', () => {
    given(consents).when(recordConsent, command).thenEvents([recorded], [recorded])
  })

  it('records the given instant', () => {
    const decision = 'denied'
    given(consents)
      .when(recordConsent, { ...keyed, decision, recordedAt: new Date(at(-60)) })
      .thenEvents([consentFact('ConsentRecorded', { ...keyedRecord.data, decision, recordedAt: at(-60) })])
  })

  it.each(['granted', 'denied', 'withdrawn'] as const)('records %s of a clock that is ahead as now', (decision) => {
    for (const seconds of [5.001, 65])
      given(consents)
        .when(recordConsent, { ...keyed, decision, recordedAt: new Date(at(seconds)) })
        .thenEvents([consentFact('ConsentRecorded', { ...keyedRecord.data, decision })])
    given(consents)
      .when(recordConsent, { ...keyed, decision, recordedAt: new Date(at(65.001)) })
      .thenRefused('recorded-in-future')
  })

  describe('after a decision of a clock that was ahead', () => {
    const before = consentFact('ConsentRecorded', { ...recorded.data, recordedAt: at(8), createdAt: at(8) })
    const next = { ...keyed, consentId: ids.event, decision: 'withdrawn' } as const
    const withdrawn = (recordedAt: string) =>
      consentFact('ConsentRecorded', { ...keyedRecord.data, consentId: ids.event, decision: 'withdrawn', recordedAt })
    const code = recorded.data.consentTypeCode

    it.each([null, new Date(at(6))])('is in force if it is of now: %s', (recordedAt) => {
      const after = given(consents, before)
        .when(recordConsent, { ...next, recordedAt })
        .thenEvents([withdrawn(at(8))])
      expect(after.inForce.get(code)?.decision).toBe('withdrawn')
    })

    it('stays behind it if an earlier instant is given', () => {
      const after = given(consents, before)
        .when(recordConsent, { ...next, recordedAt: new Date(at(4)) })
        .thenEvents([withdrawn(at(4))])
      expect(after.inForce.get(code)?.decision).toBe('granted')
    })

    it('needs a text that is in effect now', () => {
      const { effectiveFrom } = published.data
      const now = new Date(Date.parse(effectiveFrom) - 1)
      expect(recordConsent({ ...command, now }, given(consents, before).state)).toEqual({
        refused: 'text-not-in-effect',
      })
    })
  })

  it('grants only with a text that was in effect at the decision, to the millisecond', () => {
    const effective = Date.parse(published.data.effectiveFrom)
    const decided = (at: number, changes: Partial<RecordConsent> = {}) =>
      recordConsent({ ...command, recordedAt: new Date(at), ...changes }, consents.initialState)
    expect(decided(effective)).toHaveLength(1)
    expect(decided(effective - 1)).toEqual({ refused: 'text-not-in-effect' })
    expect(decided(effective - 1, { decision: 'withdrawn' })).toHaveLength(1)
    // A clock that is ahead makes no text effective.
    expect(decided(effective, { now: new Date(effective - 1) })).toEqual({ refused: 'text-not-in-effect' })
    expect(decided(effective, { now: new Date(effective - 1), recordedAt: null })).toEqual({
      refused: 'text-not-in-effect',
    })
  })

  it.each(['denied', 'withdrawn'] as const)('accepts %s for a text that is not in effect yet', (decision) => {
    const now = new Date(at(0))
    const early = consentFact('ConsentRecorded', {
      decision,
      recordedAt: at(0),
      createdAt: at(0),
      fingerprint: hash('f'),
    })
    given(consents)
      .when(recordConsent, { ...keyed, decision, now })
      .thenEvents([early])
  })

  it('recognises each of a thousand keyed decisions', () => {
    const id = (place: number) => `00000000-0000-4000-8000-${String(place).padStart(12, '0')}`
    const thousand = Array.from({ length: 1_000 }, (_, place) =>
      consentFact('ConsentRecorded', { ...keyedRecord.data, consentId: id(place) }),
    )
    const { state } = given(consents, ...thousand)
    for (const [place, { data }] of thousand.entries()) expect(keyedDecision(state, id(place))).toEqual(data)
    expect(keyedDecision(state, id(1_000))).toBeUndefined()
    given(consents, ...thousand)
      .when(recordConsent, { ...keyed, consentId: id(0) })
      .thenNothing()
    given(consents, ...thousand)
      .when(recordConsent, { ...keyed, consentId: id(0), fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })

  it('refuses a text of another type, and another body under the same key', () => {
    given(consents)
      .when(recordConsent, { ...keyed, consentType: definedType() })
      .thenRefused('text-of-other-type')
    given(consents, keyedRecord)
      .when(recordConsent, { ...keyed, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })
})
