import { foreignEventId, foreignEvents } from '../../streams/foreign-event/aggregate.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { foreignChannel, foreignFact } from '../../test/streams/foreign-facts.ts'
import type { Act } from './clinical-acts.ts'

/** An event of another service about a new organisation. Half of them are rejected. */
export const receiveForeignEvent: Act = (story, random, text) => {
  const orgId = tenantOfFact(story.id(random).toLowerCase())
  const eventId = story.id(random).toLowerCase()
  const recordId = foreignEventId(foreignChannel, eventId)
  const place = {
    foreignEventId: recordId,
    eventId,
    publishedAt: story.instant(random),
    receivedAt: story.instant(random),
  }
  const { stream } = foreignEvents.of(recordId)
  const data = JSON.stringify({ text })
  const received = { ...place, orgId, organisationIds: [orgId], phiSubject: recordId, data }
  if (random.oneIn(2)) story.append(orgId, stream, foreignFact('ForeignEventReceived', received))
  else story.append(orgId, stream, foreignFact('ForeignEventRejected', { ...place, pointer: text.slice(0, 200) }))
}
