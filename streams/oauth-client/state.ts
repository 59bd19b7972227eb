import type { Fold } from '../store/events.ts'
import type { OauthClientEvent } from './events.ts'
import { category } from './stream.ts'

export type OauthClientState = { readonly status: 'absent' } | ({ readonly status: 'registered' } & OauthClientEvent['data'])

export type RegisteredOauthClient = Extract<OauthClientState, { status: 'registered' }>

export const oauthClientFold: Fold<OauthClientState, OauthClientEvent> = {
  category,
  initialState: { status: 'absent' },
  evolve: (_, event) => ({ status: 'registered', ...event.data }),
}
