import { defineAggregate, idOfOrganisation } from '../../aggregates/aggregate.ts'
import { mintedIdEvents, type MintedIdEvent } from './events.ts'

export type MintedIdState = { readonly status: 'absent' } | { readonly status: 'minted'; readonly id: string }

function evolve(_: MintedIdState, { data }: MintedIdEvent): MintedIdState {
  return { status: 'minted', id: data.id }
}

/** The id that a keyed request gave to its record. The stream's name contains an HMAC of the key. */
export const mintedIds = defineAggregate({
  category: 'minted_id',
  id: idOfOrganisation,
  events: mintedIdEvents,
  initialState: { status: 'absent' },
  evolve,
})
