import { at } from '../../../app/demo/members.ts'
import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'
import { channels } from './channels.ts'

interface Rule {
  readonly eventType: string
  readonly orgId: string
}

/** What a rule must make of an event: a notification, or for an event too far down its chain a note that it makes none. */
interface Due {
  readonly event: Fact
  readonly type: 'NotificationCreated' | 'NotificationDiscarded'
}

/** An attempt to deliver a notification, with the times in its events. */
export interface Attempt {
  readonly begun: Fact
  /** The event that ended it. Undefined while it runs. */
  ended: Fact | undefined
}

export interface FollowedNotification {
  readonly created: Fact
  /** Its end. Undefined while it is under way. */
  end: Fact | undefined
  readonly attempts: Attempt[]
}

const mostHops = 1
const ends = ['NotificationSent', 'NotificationFailed', 'NotificationSuppressed']
const endsOfAttempts = ['NotificationRetryScheduled', 'NotificationAttemptWithdrawn', ...ends]

/** Rules and notifications according to the log, from a second definition that is independent of process and aggregate. */
export class Notifications {
  readonly all = new Map<string, FollowedNotification>()
  readonly due = new Map<string, Due>()
  /** Events that rules turned into something, by rule, event and organisation. */
  readonly made = Map.groupBy<string, Fact>([], () => '')
  readonly findings: Finding[] = []
  readonly #rules = new Map<string, Rule>()

  constructor(log: readonly Fact[]) {
    for (const fact of log) {
      if (fact.stream in channels) this.#meetRules(fact)
      else if (fact.type.startsWith('NotificationSubscription')) this.#followRule(fact)
      else if (fact.stream.startsWith('notification-')) this.#follow(fact)
    }
  }

  /** What is not finished at the end of the log. */
  unfinished(): readonly Finding[] {
    const lacking = [...this.due].flatMap(([key, { event }]): Finding[] =>
      this.made.has(key) ? [] : [{ what: 'an event without the notification of its rule', where: placeOf(event) }],
    )
    const endless = [...this.all.values()].flatMap(({ created, end }): Finding[] =>
      end === undefined ? [{ what: 'a notification without an end', where: placeOf(created) }] : [],
    )
    return [...lacking, ...endless]
  }

  #followRule(fact: Fact): void {
    const id = text(fact, 'subscriptionId')
    const isEnabled = fact.type !== 'NotificationSubscriptionDeleted' && at(fact.data, 'enabled') === true
    if (isEnabled) this.#rules.set(id, { eventType: text(fact, 'eventType'), orgId: text(fact, 'orgId') })
    else this.#rules.delete(id)
  }

  /** The load has rules of an organisation only. An event meets those that stand before it in the log. */
  #meetRules(event: Fact): void {
    const named = [text(event, 'org_id'), text(event, 'orgId'), text(event, 'organisationId')]
    const several = at(event.data, 'organisationIds')
    const organisations = new Set([...named, ...(Array.isArray(several) ? several.map(String) : [])])
    const hop = at(event.data, 'hop')
    const type = typeof hop === 'number' && hop > mostHops ? 'NotificationDiscarded' : 'NotificationCreated'
    for (const [ruleId, { eventType, orgId }] of this.#rules)
      if (eventType === event.type && organisations.has(orgId))
        this.due.set(`${ruleId} ${event.id} ${orgId}`, { event, type })
  }

  #follow(fact: Fact): void {
    const id = text(fact, 'notificationId')
    if (fact.type === 'NotificationCreated' || fact.type === 'NotificationDiscarded') this.#match(fact)
    if (fact.type === 'NotificationCreated')
      return void this.all.set(id, { created: fact, end: undefined, attempts: [] })
    const one = this.all.get(id)
    if (one === undefined) return
    const isRetry = fact.type === 'NotificationQueued' && at(fact.data, 'reason') === 'retry_requested'
    // A process that stood still may have the outcome that was unknown.
    const isLate = fact.type === 'NotificationSent' && text(one.end ?? fact, 'errorCode') === 'delivery_unknown'
    if (one.end !== undefined && !isLate && !(isRetry && one.end.type === 'NotificationFailed'))
      this.findings.push({ what: 'an event after the end of a notification', where: placeOf(fact) })
    if (isRetry) one.end = undefined
    const open = one.attempts.find(({ ended }) => ended === undefined)
    if (fact.type === 'NotificationAttemptStarted') {
      if (open !== undefined) this.findings.push({ what: 'two attempts at the same time', where: placeOf(fact) })
      one.attempts.push({ begun: fact, ended: undefined })
    }
    if (endsOfAttempts.includes(fact.type) && open !== undefined) open.ended = fact
    if (ends.includes(fact.type)) one.end = fact
  }

  #match(fact: Fact): void {
    if (at(fact.data, 'trigger') === null) return
    const [ruleId, eventId] = [at(fact.data, 'trigger', 'subscriptionId'), at(fact.data, 'trigger', 'eventId')]
    const key = `${String(ruleId)} ${String(eventId)} ${text(fact, 'organisationId')}`
    this.made.set(key, [...(this.made.get(key) ?? []), fact])
  }
}

/** Work on notifications that is not finished at the end of the log. */
export function notificationsUnderWay(log: readonly Fact[]): readonly string[] {
  return new Notifications(log).unfinished().map(({ what, where }) => `${what}: ${where}`)
}

/** Each event and rule made one notification, by the order of the log. No other event made one. */
export function checkRules(log: readonly Fact[]): Checked {
  const { due, made } = new Notifications(log)
  const lacking = [...due].flatMap(([key, { event }]): Finding[] =>
    made.has(key) ? [] : [{ what: 'an event without the notification of its rule', where: placeOf(event) }],
  )
  const wrong = [...made].flatMap(([key, [first, ...more]]): Finding[] => {
    if (first === undefined) return []
    const wanted = due.get(key)?.type
    return [
      ...(wanted === undefined ? [{ what: 'a notification that no rule wanted', where: placeOf(first) }] : []),
      ...(wanted === undefined || wanted === first.type
        ? []
        : [{ what: `${first.type} instead of ${wanted}`, where: placeOf(first) }]),
      ...more.map((fact) => ({ what: 'a second notification of one rule and event', where: placeOf(fact) })),
    ]
  })
  return { check: 'one notification for each event and rule', examined: due.size, findings: [...lacking, ...wrong] }
}

/** Every notification ends once, and nothing is tried after its end. No two attempts run at the same time. */
export function checkNotificationEnds(log: readonly Fact[]): Checked {
  const { all, findings } = new Notifications(log)
  const endless = [...all.values()].flatMap(({ created, end }): Finding[] =>
    end === undefined ? [{ what: 'a notification without an end', where: placeOf(created) }] : [],
  )
  return {
    check: 'notifications end once, no attempt after that',
    examined: all.size,
    findings: [...findings, ...endless],
  }
}
