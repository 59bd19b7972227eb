import { defineAggregate, idOfOrganisation } from '../aggregate.ts'
import { consentEvents, type ConsentEvent } from './events.ts'

export type RecordedDecision = ConsentEvent['data']

/**
 * Only decisions that a keyed request caused: what a repeat of that request is answered with. Each map is larger than
 * the next one, so a patient of a thousand decisions has ten, and one more decision seldom copies an old one.
 */
export interface ConsentState {
  readonly keyed: readonly ReadonlyMap<string, RecordedDecision>[]
}

export function keyedDecision({ keyed }: ConsentState, consentId: string): RecordedDecision | undefined {
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

/** One stream per patient: the order of the decisions is the order of the stream. */
export const consents = defineAggregate({
  category: 'consent',
  id: idOfOrganisation,
  events: consentEvents,
  initialState: { keyed: [] },
  evolve,
})
