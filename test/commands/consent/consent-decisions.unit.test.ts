import { describe, expect, it } from 'vitest'
import { createConsentType } from '../../../commands/consent/create-consent-type.ts'
import { publishTextVersion } from '../../../commands/consent/publish-text-version.ts'
import { recordConsent, type RecordConsent } from '../../../commands/consent/record-consent.ts'
import { useConsentType } from '../../../commands/consent/use-consent-type.ts'
import { consentTypeFold, type DefinedConsentType } from '../../../streams/consent-type/state.ts'
import { consentFold } from '../../../streams/consent/state.ts'
import { at, consentFact, consentTypeFact as typeFact, hash, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const created = typeFact('ConsentTypeCreated')
const published = typeFact('ConsentTextVersionPublished')
const used = typeFact('ConsentTypeUsed')

function definedType(...later: (typeof published)[]): DefinedConsentType {
  const { state } = given(consentTypeFold, created, ...later)
  if (state.status !== 'defined') throw new Error('not defined')
  return state
}

describe('creating a consent type', () => {
  const { createdAt: _, ...data } = created.data
  const command = { ...data, now: new Date(at(0)) }

  it('takes the code; the same keyed request again does nothing', () => {
    const keyed = { ...command, fingerprint: hash('f') }
    given(consentTypeFold).when(createConsentType, keyed).thenEvents([typeFact('ConsentTypeCreated', { fingerprint: hash('f') })])
  })

  it('refuses a code that is taken, by another request or by one without a key', () => {
    given(consentTypeFold).when(createConsentType, command).thenEvents([created], 'consent-type-code-in-use')
    given(consentTypeFold, typeFact('ConsentTypeCreated', { fingerprint: hash('e') }))
      .when(createConsentType, { ...command, fingerprint: hash('f') })
      .thenRefused('consent-type-code-in-use')
  })
})

describe('publishing a text version', () => {
  const { createdAt: _, ...data } = published.data
  const command = { ...data, effectiveFrom: new Date(at(1)), now: new Date(at(1)), fingerprint: hash('f') }
  const keyed = typeFact('ConsentTextVersionPublished', { fingerprint: hash('f') })

  it('adds it once', () => {
    given(consentTypeFold, created).when(publishTextVersion, command).thenEvents([keyed])
  })

  it('takes effect at once where no instant is named', () => {
    given(consentTypeFold, created).when(publishTextVersion, { ...command, effectiveFrom: null }).thenEvents([keyed])
  })

  it('refuses the same locale from the same instant, and allows another locale or instant', () => {
    const other = { ...command, textVersionId: ids.event }
    given(consentTypeFold, created, keyed).when(publishTextVersion, other).thenRefused('text-version-exists')
    const french = typeFact('ConsentTextVersionPublished', { textVersionId: ids.event, locale: 'fr-FR', fingerprint: hash('f') })
    given(consentTypeFold, created, keyed).when(publishTextVersion, { ...other, locale: 'fr-FR' }).thenEvents([french])
    const later = typeFact('ConsentTextVersionPublished', { textVersionId: ids.event, effectiveFrom: at(2), fingerprint: hash('f') })
    given(consentTypeFold, created, keyed).when(publishTextVersion, { ...other, effectiveFrom: new Date(at(2)) }).thenEvents([later])
  })

  it('refuses a type that does not exist, and another body under the same key', () => {
    given(consentTypeFold).when(publishTextVersion, command).thenRefused('not-found')
    given(consentTypeFold, created, keyed).when(publishTextVersion, { ...command, fingerprint: hash('e') }).thenRefused('idempotency-key-reused')
  })
})

describe('using a consent type', () => {
  it('is said once, before its first decision', () => {
    given(consentTypeFold, created, published).when(useConsentType, { now: new Date(at(2)) }).thenEvents([used])
    given(consentTypeFold).when(useConsentType, { now: new Date(at(2)) }).thenRefused('not-found')
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
    given(consentFold).when(recordConsent, keyed).thenEvents([keyedRecord])
  })

  it('records the repeat of the latest decision like any other, where no key says that it is a replay', () => {
    given(consentFold).when(recordConsent, command).thenEvents([recorded], [recorded])
  })

  it('takes the instant that is given, unless it is in the future', () => {
    given(consentFold).when(recordConsent, { ...keyed, recordedAt: new Date(at(-60)) }).thenEvents([consentFact('ConsentRecorded', { ...keyedRecord.data, recordedAt: at(-60) })])
    given(consentFold).when(recordConsent, { ...keyed, recordedAt: new Date(at(6)) }).thenRefused('validation-failed')
  })

  it('grants only with a text that is in effect, to the millisecond', () => {
    const effective = Date.parse(published.data.effectiveFrom)
    given(consentFold).when(recordConsent, { ...command, now: new Date(effective - 1) }).thenRefused('text-version-not-effective')
    expect(recordConsent({ ...command, now: new Date(effective) }, { keyed: new Map() })).toHaveLength(1)
  })

  it.each(['denied', 'withdrawn'] as const)('never refuses %s for a text that is not in effect yet', (decision) => {
    const now = new Date(at(0))
    const early = consentFact('ConsentRecorded', { decision, recordedAt: at(0), createdAt: at(0), fingerprint: hash('f') })
    given(consentFold).when(recordConsent, { ...keyed, decision, now }).thenEvents([early])
  })

  it('refuses a text of another type, and another body under the same key', () => {
    given(consentFold).when(recordConsent, { ...keyed, consentType: definedType() }).thenRefused('consent-text-mismatch')
    given(consentFold, keyedRecord).when(recordConsent, { ...keyed, fingerprint: hash('e') }).thenRefused('idempotency-key-reused')
  })
})
