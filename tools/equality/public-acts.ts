import { isUuid } from '../../platform/http/formats.ts'
import { auditChannelStream } from '../../streams/channels/audit.ts'
import { clinicalChannelStream } from '../../streams/channels/clinical.ts'
import { humanReviewChannelStream } from '../../streams/channels/human-review.ts'
import { notificationChannelStream } from '../../streams/channels/notification.ts'
import { usersChannelStream } from '../../streams/channels/users.ts'
import { webhookChannelStream } from '../../streams/channels/webhook.ts'
import { workflowChannelStream } from '../../streams/channels/workflow.ts'
import { auditPublicFact } from '../../test/streams/access-log-facts.ts'
import { clinicalPublicFact, webhookPublicFact } from '../../test/streams/channel-facts.ts'
import { ids } from '../../test/streams/facts.ts'
import { humanReviewPublicFact } from '../../test/streams/human-review-facts.ts'
import { notificationPublicFact } from '../../test/streams/notification-facts.ts'
import { usersPublicFact } from '../../test/streams/user-facts.ts'
import { workflowPublicFact } from '../../test/streams/workflow-facts.ts'
import type { Act } from './clinical-acts.ts'

const publicEvents = [
  { stream: auditChannelStream.name, facts: auditPublicFact.usual },
  { stream: clinicalChannelStream.name, facts: clinicalPublicFact.usual },
  { stream: humanReviewChannelStream.name, facts: humanReviewPublicFact.usual },
  { stream: notificationChannelStream.name, facts: notificationPublicFact.usual },
  { stream: usersChannelStream.name, facts: usersPublicFact.usual },
  { stream: webhookChannelStream.name, facts: webhookPublicFact.usual },
  { stream: workflowChannelStream.name, facts: workflowPublicFact.usual },
].flatMap(({ stream, facts }) => Object.entries(facts).map(([type, data]) => ({ stream, type, data })))

const organisationMembers: ReadonlySet<string> = new Set(['org_id', 'orgId', 'organisationId'])

/** Types of the events that `publishEvent` may append. Rules of notifications name them. */
export const publishedTypes = publicEvents.map(({ type }) => type)

/** An event on a channel, about a new record: a case, for example, closes once. Only rules of notifications react to it. */
export const publishEvent: Act = (story, random) => {
  const { stream, type, data } = random.pick(publicEvents)
  const renewed = Object.entries(data).map(([name, value]) => {
    const isRenewed = typeof value === 'string' && isUuid(value) && !organisationMembers.has(name)
    return [name, isRenewed ? story.id(random).toLowerCase() : value]
  })
  story.append(ids.org, stream, { type, data: Object.fromEntries(renewed) })
}
