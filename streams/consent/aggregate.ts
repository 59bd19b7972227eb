import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { consentEvents, type ConsentEvent } from './events.ts'

export type RecordedConsent = ConsentEvent['data']

/**
 * Only decisions of keyed requests: a repeat of such a request returns them. Each map is larger than the next one. A
 * patient with a thousand decisions has ten maps, and one more decision rarely copies an old map.
 */
export interface ConsentState {
  readonly keyed: readonly ReadonlyMap<string, RecordedConsent>[]
}

export function keyedDecision({ keyed }: ConsentState, consentId: string): RecordedConsent | undefined {
  for (const layer of keyed) {
    const found = layer.get(consentId)
    if (found !== undefined) return found
  }
  return undefined
}

function evolve(state: ConsentState, { data }: ConsentEvent): ConsentState {
  if (data.fingerprint === null) return state
  let newest = new Map([[data.consentId, data]])
  const kept = [...state.keyed]
  for (let last = kept.at(-1); last !== undefined && last.size <= newest.size; last = kept.at(-1)) {
    newest = new Map([...last, ...newest])
    kept.pop()
  }
  return { keyed: [...kept, newest] }
}

/** One stream per patient: its order is the order of the decisions. */
export const consents = defineAggregate({
  category: 'consent',
  id: idOfOrganisation,
  events: consentEvents,
  initialState: { keyed: [] },
  evolve,
})
