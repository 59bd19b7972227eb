import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { Id, Instant } from '../types.ts'
import { publicData } from './envelope.ts'

/** Stream of the public consent events (specification section 6). */
export const consentChannel = 'consent.events'

function decisionEvent<Name extends 'consent.granted' | 'consent.denied' | 'consent.withdrawn'>(name: Name) {
  return defineEvent(
    name,
    publicData({
      org_id: Id,
      type: Type.Literal(name),
      patient_id: Id,
      consent_type_code: Type.String(),
      timestamp: Instant,
    }),
  )
}

export const consentChannelEvents = {
  granted: decisionEvent('consent.granted'),
  denied: decisionEvent('consent.denied'),
  withdrawn: decisionEvent('consent.withdrawn'),
} as const

export type ConsentChannelEvent = EventOf<typeof consentChannelEvents>
