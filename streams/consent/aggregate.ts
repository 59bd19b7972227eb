import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import { consentEvents, type ConsentEvent } from './events.ts'

export type RecordedConsent = ConsentEvent['data']

/** Only decisions of keyed requests: a repeat of such a request returns them. */
export interface ConsentState {
  readonly keyed: GrowingMap<RecordedConsent>
}

export function keyedDecision({ keyed }: ConsentState, consentId: string): RecordedConsent | undefined {
  return keyed.get(consentId)
}

function evolve(state: ConsentState, { data }: ConsentEvent): ConsentState {
  return data.fingerprint === null ? state : { keyed: state.keyed.with(data.consentId, data) }
}

/** One stream per patient: its order is the order of the decisions. */
export const consents = defineAggregate({
  category: 'consent',
  id: idOfOrganisation,
  events: consentEvents,
  initialState: { keyed: new GrowingMap<RecordedConsent>() },
  evolve,
})
