import type { Fold } from '../store/events.ts'
import type { OauthClientEvent } from './events.ts'
import { category } from './stream.ts'

type Registered = Extract<OauthClientEvent, { type: 'OauthClientRegistered' }>['data']

export type OauthClientState = { readonly status: 'absent' } | ({ readonly status: 'registered' } & Registered)

export type RegisteredOauthClient = Extract<OauthClientState, { status: 'registered' }>

function evolve(state: OauthClientState, event: OauthClientEvent): OauthClientState {
  switch (event.type) {
    case 'OauthClientRegistered':
      return { status: 'registered', ...event.data }
    case 'OauthClientScopesGranted':
      return state.status === 'registered' ? { ...state, scopes: [...state.scopes, ...event.data.scopes] } : state
  }
}

export const oauthClientFold: Fold<OauthClientState, OauthClientEvent> = {
  category,
  initialState: { status: 'absent' },
  evolve,
}
