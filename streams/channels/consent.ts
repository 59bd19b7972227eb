import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant } from '../../engine/aggregates/types.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'

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

/** Stream of the public consent events (specification section 6). */
export const consentChannelStream = defineChannelStream({
  name: 'consent.events',
  organisationMember: 'org_id',
  events: {
    granted: decisionEvent('consent.granted'),
    denied: decisionEvent('consent.denied'),
    withdrawn: decisionEvent('consent.withdrawn'),
  },
})

export type ConsentChannelEvent = EventOf<typeof consentChannelStream.events>
