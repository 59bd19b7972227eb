import type { Fold } from '../store/events.ts'
import type { ConsentEvent } from './events.ts'
import { category } from './stream.ts'

type Recorded = ConsentEvent['data']

export interface ConsentState {
  /** Only decisions that a keyed request caused: what a repeat of that request is answered with. */
  readonly keyed: ReadonlyMap<string, Recorded>
}

function evolve(state: ConsentState, event: ConsentEvent): ConsentState {
  if (event.data.fingerprint === null) return state
  return { keyed: new Map(state.keyed).set(event.data.consentId, event.data) }
}

export const consentFold: Fold<ConsentState, ConsentEvent> = { category, initialState: { keyed: new Map() }, evolve }
