import { at } from '../../../platform/demo/api-client.ts'
import { placeOf, text, type Fact } from '../facts.ts'
import type { Checked, Finding } from './checked.ts'

/** What the receiver wrote down of one webhook, before it answered. */
export interface ReceivedLine {
  /** Path of the address that one subscription alone has. */
  readonly path: string
  /** `webhook-id`. */
  readonly id: string
  readonly assessmentId: string
  /** That it answered with. */
  readonly status: number
}

interface Due {
  readonly path: string
  readonly assessmentId: string
  readonly end: Fact
}

const publicTypes: Readonly<Record<string, string>> = { AssessmentCompleted: 'assessment.completed', AssessmentFailed: 'assessment.failed' }

/** Each end of an assessment reached each subscription that stood then, at least once and taken, always under one id; nothing else came. */
export function checkWebhooks(log: readonly Fact[], received: readonly ReceivedLine[]): Checked {
  const findings: Finding[] = []
  const due = dueWebhooks(log)
  const about = Map.groupBy(received, ({ path, assessmentId }) => `${path} ${assessmentId}`)
  for (const { path, assessmentId, end } of due) {
    const lines = about.get(`${path} ${assessmentId}`) ?? []
    const ids = new Set(lines.map(({ id }) => id))
    const where = `${path} about ${placeOf(end)}`
    if (lines.length === 0) findings.push({ what: 'a webhook that never came', where })
    else if (!lines.some(({ status }) => status < 300)) findings.push({ what: 'a webhook that was refused and not sent again', where })
    if (ids.size > 1) findings.push({ what: `a webhook under ${ids.size} ids: ${[...ids].join(', ')}`, where })
  }
  const expected = new Set(due.map(({ path, assessmentId }) => `${path} ${assessmentId}`))
  const byId = new Map<string, string>()
  for (const { path, assessmentId, id } of received) {
    const told = `${path} ${assessmentId}`
    if (!expected.has(told)) findings.push({ what: 'a webhook that no subscription asked for', where: `${told} under ${id}` })
    const other = byId.get(id)
    if (other !== undefined && other !== told) findings.push({ what: `one webhook id for two things, the other ${other}`, where: `${told} under ${id}` })
    byId.set(id, told)
  }
  return { check: `webhooks at least once under one id (${received.length} came)`, examined: due.length, findings }
}

/** Deliveries that have no outcome in the log yet. */
export function deliveriesWithoutOutcome(log: readonly Fact[]): number {
  const outcomes = log.filter(({ type }) => type === 'WebhookDelivered' || type === 'WebhookDeliveryFailed').length
  return dueWebhooks(log).length - outcomes
}

function dueWebhooks(log: readonly Fact[]): readonly Due[] {
  const subscriptions: Fact[] = []
  return log.flatMap((fact) => {
    if (fact.type === 'WebhookSubscribed') subscriptions.push(fact)
    const told = publicTypes[fact.type]
    if (told === undefined) return []
    const asking = subscriptions.filter(({ data }) => {
      const types = at(data, 'eventTypes')
      return Array.isArray(types) && types.includes(told)
    })
    return asking.map((subscription) => ({ path: new URL(text(subscription, 'url')).pathname, assessmentId: text(fact, 'assessmentId'), end: fact }))
  })
}
