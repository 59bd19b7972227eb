import { describe, expect, test } from 'vitest'
import {
  hasOptedInSince,
  isOptedOut,
  optOutByLink,
  setPreferences,
} from '../../../commands/notifications/preferences.ts'
import {
  changeSubscription,
  createSubscription,
  deleteSubscription,
} from '../../../commands/notifications/subscriptions.ts'
import { addSuppression, removeSuppression } from '../../../commands/notifications/suppressions.ts'
import { notificationPreferences } from '../../../streams/notification-preferences/aggregate.ts'
import { notificationSubscriptions } from '../../../streams/notification-subscription/aggregate.ts'
import { suppressions } from '../../../streams/suppression/aggregate.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { preferencesFact, ruleFact, suppressionFact } from '../../streams/notification-settings-facts.ts'
import { userIds } from '../../streams/user-facts.ts'
import { given } from '../../support/given-decider.ts'

const changedBy = 'someone'
const now = new Date(at(60))

describe('a rule', () => {
  const { createdAt: _, ...described } = ruleFact('NotificationSubscriptionCreated').data
  const command = { ...described, fingerprint: hash('f'), rules: 0, now }
  const created = ruleFact('NotificationSubscriptionCreated', { fingerprint: hash('f') })
  const { fingerprint: __, createdAt: ___, ...rule } = created.data
  const loops = { eventType: 'notification.sent', recipientRule: { type: 'user', path: 'userId' } } as const
  const chat = { type: 'slackChannel', channel: 'C0123' } as const

  test('is created once by its key', () => {
    given(notificationSubscriptions)
      .when(createSubscription, command)
      .thenEvents([ruleFact('NotificationSubscriptionCreated', { fingerprint: hash('f'), createdAt: at(60) })])
    const again = given(notificationSubscriptions, created)
    again.when(createSubscription, { ...command, fingerprint: hash('e') }).thenRefused('idempotency-key-reused')
    given(notificationSubscriptions, created, ruleFact('NotificationSubscriptionDeleted'))
      .when(createSubscription, command)
      .thenRefused('subscription-deleted')
  })

  test('is refused to an organisation that has five hundred, unless it is one of them', () => {
    const full = { ...command, rules: 500 }
    given(notificationSubscriptions)
      .when(createSubscription, { ...command, rules: 499 })
      .thenEvents([ruleFact('NotificationSubscriptionCreated', { fingerprint: hash('f'), createdAt: at(60) })])
    given(notificationSubscriptions).when(createSubscription, full).thenRefused('rule-limit')
    given(notificationSubscriptions, created).when(createSubscription, full).thenNothing()
  })

  test('sends no message to a person about a message', () => {
    const fresh = given(notificationSubscriptions)
    fresh.when(createSubscription, { ...command, ...loops }).thenRefused('person-for-notification-event')
    const patient = { ...command, ...loops, recipientRule: { type: 'patient', path: 'a' } } as const
    fresh.when(createSubscription, patient).thenRefused('person-for-notification-event')
    const ofChat = ruleFact('NotificationSubscriptionCreated', { eventType: 'notification.sent', recipientRule: chat })
    given(notificationSubscriptions, ofChat)
      .when(changeSubscription, { recipientRule: loops.recipientRule, changedBy, now })
      .thenRefused('person-for-notification-event')
  })

  test('changes in the given members, and the event contains the whole rule', () => {
    given(notificationSubscriptions, created)
      .when(changeSubscription, { enabled: false, changedBy, now })
      .thenEvents([
        {
          type: 'NotificationSubscriptionChanged',
          data: { ...rule, enabled: false, changedBy, changedAt: at(60) },
        },
      ])
    given(notificationSubscriptions, created)
      .when(changeSubscription, { enabled: true, recipientRule: { ...rule.recipientRule }, changedBy, now })
      .thenNothing()
    given(notificationSubscriptions).when(changeSubscription, { changedBy, now }).thenRefused('not-found')
  })

  test('is deleted once, as it was last', () => {
    const changed = ruleFact('NotificationSubscriptionChanged', { templateCode: 'other' })
    const { changedAt: ____, ...last } = changed.data
    given(notificationSubscriptions, created, changed)
      .when(deleteSubscription, { changedBy, now })
      .thenEvents(
        [{ type: 'NotificationSubscriptionDeleted', data: { ...last, changedBy, deletedAt: at(60) } }],
        'not-found',
      )
    given(notificationSubscriptions, created, ruleFact('NotificationSubscriptionDeleted'))
      .when(changeSubscription, { enabled: false, changedBy, now })
      .thenRefused('not-found')
  })
})

describe('a suppression', () => {
  const added = suppressionFact('SuppressionAdded', { fingerprint: hash('f') })
  const removed = suppressionFact('SuppressionRemoved')
  const { addedAt: _, ...entry } = added.data
  const command = { ...entry, now }

  test('is added once, and again after its removal by another request', () => {
    const event = { type: 'SuppressionAdded', data: { ...entry, addedAt: at(60) } } as const
    given(suppressions).when(addSuppression, command).thenEvents([event])
    given(suppressions, added)
      .when(addSuppression, { ...command, fingerprint: null })
      .thenRefused('suppression-exists')
    const second = { ...command, fingerprint: hash('e') }
    given(suppressions, added, removed)
      .when(addSuppression, second)
      .thenEvents([{ ...event, data: { ...event.data, fingerprint: hash('e') } }])
    const third = suppressionFact('SuppressionAdded', { fingerprint: hash('e') })
    given(suppressions, added, removed, third, removed).when(addSuppression, command).thenRefused('suppression-removed')
  })

  test('is removed once', () => {
    const { suppressionId, orgId } = entry
    given(suppressions, added)
      .when(removeSuppression, { changedBy, now })
      .thenEvents(
        [{ type: 'SuppressionRemoved', data: { suppressionId, orgId, removedAt: at(60), changedBy } }],
        'not-found',
      )
  })
})

describe('preferences', () => {
  const set = preferencesFact('NotificationPreferencesSet')
  const of = { userId: userIds.user, organisationId: ids.org, changedBy, now }

  test('change in the given entries, and in none that is so already', () => {
    const entries = [
      { category: 'marketing', channel: 'email', optedOut: true },
      { category: 'clinical', channel: 'slack', optedOut: false },
    ] as const
    const { now: _, ...described } = of
    const { state } = given(notificationPreferences, set)
    given(notificationPreferences, set)
      .when(setPreferences, { ...of, entries })
      .thenEvents([
        { type: 'NotificationPreferencesSet', data: { ...described, entries: [entries[1]], setAt: at(60) } },
      ])
    given(notificationPreferences, set)
      .when(setPreferences, { ...of, organisationId: ids.otherOrg, entries: [entries[0]] })
      .thenEvents([
        {
          type: 'NotificationPreferencesSet',
          data: { ...described, organisationId: ids.otherOrg, entries: [entries[0]], setAt: at(60) },
        },
      ])
    expect(isOptedOut(state, 'marketing', 'email')).toBe(true)
    expect(isOptedOut(state, 'marketing', 'slack')).toBe(false)
    expect(isOptedOut(state, 'operational', 'email')).toBe(false)
  })

  test('never hold back transactional messages', () => {
    const entries = [{ category: 'transactional', channel: 'email', optedOut: true }] as const
    const { state } = given(
      notificationPreferences,
      preferencesFact('NotificationPreferencesSet', { entries: [...entries] }),
    )
    expect(isOptedOut(state, 'transactional', 'email')).toBe(false)
  })

  test('follow a link unless the user opted in after it was made', () => {
    const link = { userId: userIds.user, organisationId: ids.org, channel: 'email', now } as const
    const operational = { ...link, category: 'operational' } as const
    const isOut = { category: 'operational', channel: 'email', optedOut: true } as const
    const event = preferencesFact('NotificationPreferencesSet', {
      changedBy: 'unsubscribe-link',
      entries: [isOut],
      setAt: at(60),
    })
    // The opt-in of the facts is of the third second.
    const { state } = given(notificationPreferences, set)
    for (const [seconds, isLater] of [
      [2, true],
      [3, false],
      [4, false],
    ] as const) {
      const issuedAt = new Date(at(seconds))
      expect(hasOptedInSince(state, { ...operational, issuedAt })).toBe(isLater)
      const decided = given(notificationPreferences, set).when(optOutByLink, { ...operational, issuedAt })
      if (isLater) decided.thenNothing()
      else decided.thenEvents([event])
    }
    given(notificationPreferences, set)
      .when(optOutByLink, { ...link, category: 'marketing', issuedAt: new Date(at(50)) })
      .thenNothing()
    given(notificationPreferences)
      .when(optOutByLink, { ...operational, issuedAt: new Date(at(0)) })
      .thenEvents([event])
  })
})
