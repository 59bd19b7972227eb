import { describe, expect, test } from 'vitest'
import { checkMessages, checkUnknown } from '../../../tools/torture/checks/messages.ts'
import {
  checkNotificationEnds,
  checkRules,
  notificationsUnderWay,
} from '../../../tools/torture/checks/notifications.ts'
import { streamOf, exampleLog, type ExampleEvent } from '../../../tools/torture/example-log.ts'

const org = 'o1'
const start = Date.parse('2026-11-01T10:00:00Z')
const instant = (ms: number) => new Date(start + ms).toISOString()

const rule = (type = 'Created', changes = {}): ExampleEvent => [
  'notification_subscription-r1',
  `NotificationSubscription${type}`,
  { subscriptionId: 'r1', orgId: org, eventType: 'assessment.completed', enabled: true, ...changes },
]
const event = (data = {}): ExampleEvent => [
  'assessment.events',
  'assessment.completed',
  { org_id: org, hop: 0, ...data },
]
const of = (id: string, type: string, data = {}): ExampleEvent => [
  streamOf('notification', id),
  `Notification${type}`,
  { notificationId: id, ...data },
]
/** Of the event at the place in the log. */
const made = (id: string, place: number, type = 'Created'): ExampleEvent =>
  of(id, type, { organisationId: org, trigger: { subscriptionId: 'r1', eventId: `event-${place}` } })
const asked = (id = 'n1'): ExampleEvent => of(id, 'Created', { organisationId: org, trigger: null })
const attempt = (id = 'n1', categories: readonly string[] = ['operational']): ExampleEvent =>
  of(id, 'AttemptStarted', { startedAt: instant(0), leaseUntil: instant(4_000), categories })
const sent = (id = 'n1'): ExampleEvent => of(id, 'Sent', { sentAt: instant(1_000) })
const unknown = { errorCode: 'delivery_unknown', failedAt: instant(4_500) }
const retried = (): ExampleEvent => of('n1', 'RetryScheduled', unknown)
const failed = (data: object = unknown): ExampleEvent => of('n1', 'Failed', data)
const message = (notificationId = 'n1', ms = 500) => ({ notificationId, receivedAt: start + ms })
const ofKill = (part: 'processor-1' | 'api-1', from: number) => ({ part, from: start + from, to: start + from + 100 })
const what = ({ findings }: { readonly findings: readonly { readonly what: string }[] }) =>
  findings.map((finding) => finding.what)

describe('the check of rules', () => {
  test('accepts one notification for each event while the rule stands', () => {
    const log = exampleLog(
      event(),
      rule(),
      event(),
      made('n1', 2),
      event({ hop: 2 }),
      made('n2', 4, 'Discarded'),
      event({ org_id: 'o2' }),
      rule('Changed', { enabled: false }),
      event(),
      rule('Changed'),
      rule('Deleted'),
      event(),
      asked('n3'),
    )
    expect(checkRules(log)).toMatchObject({ examined: 2, findings: [] })
  })

  test.each<readonly [string, readonly ExampleEvent[], string]>([
    ['a lost event', [rule(), event()], 'an event without the notification of its rule'],
    [
      'two of one event',
      [rule(), event(), made('n1', 1), made('n2', 1)],
      'a second notification of one rule and event',
    ],
    ['one of an event before the rule', [event(), rule(), made('n1', 0)], 'a notification that no rule wanted'],
    [
      'one that continues a chain of notifications',
      [rule(), event({ hop: 2 }), made('n1', 1)],
      'NotificationCreated instead of NotificationDiscarded',
    ],
  ])('finds %s', (_, events, finding) => expect(what(checkRules(exampleLog(...events)))).toEqual([finding]))
})

describe('the check of the ends of notifications', () => {
  test('accepts an end, and a new round after a failure', () => {
    const again = of('n1', 'Queued', { reason: 'retry_requested' })
    const log = exampleLog(asked(), attempt(), failed(), again, attempt(), sent())
    expect(checkNotificationEnds(log)).toMatchObject({ examined: 1, findings: [] })
    expect(notificationsUnderWay(log)).toEqual([])
  })

  test.each<readonly [string, readonly ExampleEvent[], readonly string[]]>([
    ['a missing end', [asked(), attempt(), retried()], ['a notification without an end']],
    ['an attempt after the end', [asked(), attempt(), sent(), attempt()], ['an event after the end of a notification']],
    ['attempts at the same time', [asked(), attempt(), attempt(), sent()], ['two attempts at the same time']],
  ])('finds %s', (_, events, findings) => {
    const log = exampleLog(...events)
    expect(what(checkNotificationEnds(log))).toEqual(findings)
  })

  test('counts an event without its notification as work under way', () =>
    expect(notificationsUnderWay(exampleLog(rule(), event()))).toHaveLength(1))
})

describe('the check of messages', () => {
  const twice = exampleLog(asked(), attempt('n1', ['transactional']), retried(), attempt(), sent())

  test('accepts one message of what was sent, and another one of an attempt with an unknown outcome', () => {
    expect(checkMessages(exampleLog(asked(), attempt(), sent()), [message()]).findings).toEqual([])
    expect(checkMessages(twice, [message(), message()]).findings).toEqual([])
    expect(checkMessages(exampleLog(asked(), attempt(), failed()), [message()]).findings).toEqual([])
    expect(checkMessages(exampleLog(asked(), attempt(), failed()), []).findings).toEqual([])
  })

  test.each([
    ['a message of nobody', [sent()], [message(), message('n2')], 'a message without a notification'],
    ['a lost message', [sent()], [], 'recorded as sent, but no message arrived'],
    ['a doubled message', [sent()], [message(), message()], '2 messages where the record permits 1'],
    [
      'a message of a refused attempt',
      [failed({ errorCode: 'provider_4xx', failedAt: instant(900) })],
      [message()],
      '1 messages where the record permits 0',
    ],
    ['a message after the end', [sent()], [message('n1', 1_001)], 'a message after the end of its notification'],
  ])('finds %s', (_, end, messages, finding) =>
    expect(what(checkMessages(exampleLog(asked(), attempt(), ...end), messages))).toEqual([finding]),
  )
})

describe('the check of unknown outcomes', () => {
  const log = exampleLog(asked(), attempt(), failed())

  test('accepts one that a kill of a processor explains', () =>
    expect(checkUnknown(log, [ofKill('processor-1', 200)])).toMatchObject({ examined: 1, findings: [] }))

  test.each([
    ['without a kill', []],
    ['at a kill of a part that calls nobody', [ofKill('api-1', 200)]],
    ['at a kill before the call', [ofKill('processor-1', -200)]],
    ['at a kill after the lease', [ofKill('processor-1', 4_001)]],
  ])('finds one %s', (_, outages) =>
    expect(what(checkUnknown(log, outages))).toEqual(['an unknown outcome without a kill']),
  )

  test('finds a second message in a category that never permits one', () => {
    const again = exampleLog(asked(), attempt(), retried(), attempt(), sent())
    expect(what(checkUnknown(again, [ofKill('processor-1', 0)]))).toEqual(['sent again although it may have arrived'])
  })
})
