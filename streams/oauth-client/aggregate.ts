import { defineAggregate } from '../aggregate.ts'
import { oauthClientEvents, type OauthClientEvent } from './events.ts'

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

/** No organisation owns a client's stream: a platform client has no organisation. */
export const oauthClients = defineAggregate({
  category: 'oauth_client',
  id: (clientId: string) => clientId,
  events: oauthClientEvents,
  initialState: { status: 'absent' },
  evolve,
})
