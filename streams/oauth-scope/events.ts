import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Instant } from '../../engine/aggregates/types.ts'

export const oauthScopeEvents = {
  /** Scopes that are new, and scopes with another description. Unchanged scopes are left out. */
  OauthScopesRegistered: defineEvent(
    'OauthScopesRegistered',
    Type.Object({
      serviceId: Type.String(),
      scopes: Type.Array(Type.Object({ scope: Type.String(), description: Type.String() })),
      registeredAt: Instant,
    }),
  ),
} as const

export type OauthScopeEvent = EventOf<typeof oauthScopeEvents>
