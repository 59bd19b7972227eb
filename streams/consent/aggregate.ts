import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import { consentEvents, type ConsentEvent } from './events.ts'

export type RecordedConsent = ConsentEvent['data']

export interface ConsentState {
  /** Only decisions of keyed requests: a repeat of such a request returns them. */
  readonly keyed: GrowingMap<RecordedConsent>
  /** The decision in force, by the code of the consent type: the latest by its instant, of equal ones the last recorded. */
  readonly inForce: GrowingMap<RecordedConsent>
}

export function keyedDecision({ keyed }: ConsentState, consentId: string): RecordedConsent | undefined {
  return keyed.get(consentId)
}

function evolve({ keyed, inForce }: ConsentState, { data }: ConsentEvent): ConsentState {
  const before = inForce.get(data.consentTypeCode)
  const isLatest = before === undefined || Date.parse(before.recordedAt) <= Date.parse(data.recordedAt)
  return {
    keyed: data.fingerprint === null ? keyed : keyed.with(data.consentId, data),
    inForce: isLatest ? inForce.with(data.consentTypeCode, data) : inForce,
  }
}

/** One stream per patient: its order is the order of the decisions. */
export const consents = defineAggregate({
  category: 'consent',
  id: idOfOrganisation,
  events: consentEvents,
  initialState: { keyed: new GrowingMap<RecordedConsent>(), inForce: new GrowingMap<RecordedConsent>() },
  evolve,
})
