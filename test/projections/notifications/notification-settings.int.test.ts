import { describe, expect, it } from 'vitest'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { notificationSettingsProjector } from '../../../projections/notifications/notification-settings.projector.ts'
import { notificationPreferences } from '../../../streams/notification-preferences/aggregate.ts'
import { notificationSubscriptions } from '../../../streams/notification-subscription/aggregate.ts'
import { suppressions } from '../../../streams/suppression/aggregate.ts'
import { at, ids } from '../../streams/facts.ts'
import { preferencesFact, ruleFact, settingIds, suppressionFact } from '../../streams/notification-settings-facts.ts'
import { userIds } from '../../streams/user-facts.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'

const rowsOf = (...events: Parameters<typeof recorded>[0]) => rowsAfter(notificationSettingsProjector, recorded(events))

describe('the read model of notification settings', () => {
  it('has a row for each rule until its deletion, also for those of the platform', async () => {
    const { stream } = notificationSubscriptions.of(ids.org, settingIds.rule)
    const created = { ...ruleFact('NotificationSubscriptionCreated'), stream }
    const changed = { ...ruleFact('NotificationSubscriptionChanged'), stream }
    const subscriptionId = settingIds.suppression
    const ofPlatform = {
      ...ruleFact('NotificationSubscriptionCreated', { subscriptionId, orgId: null }),
      stream: notificationSubscriptions.of(noOrganisation, subscriptionId).stream,
    }
    const row = {
      subscription_id: settingIds.rule,
      org_id: ids.org,
      event_type: 'assessment.completed',
      template_code: 'assessment-completed',
      recipient_rule: { type: 'slackChannel', channel: 'C0123' },
      enabled: false,
      created_at: at(0),
      updated_at: at(1),
      stream_revision: '1',
    }
    const second = {
      ...row,
      subscription_id: subscriptionId,
      org_id: null,
      recipient_rule: { type: 'patient', path: 'patient_id' },
      enabled: true,
      updated_at: at(0),
      stream_revision: '0',
    }
    expect((await rowsOf(created, changed, ofPlatform)).notification_subscriptions).toEqual([row, second])
    const deleted = { ...ruleFact('NotificationSubscriptionDeleted'), stream }
    expect((await rowsOf(created, changed, ofPlatform, deleted)).notification_subscriptions).toEqual([second])
  })

  it('has a row for each suppressed address, which may be added again, and keeps it without its address', async () => {
    const { stream } = suppressions.of(ids.org, settingIds.suppression)
    const added = { ...suppressionFact('SuppressionAdded'), stream }
    const removed = { ...suppressionFact('SuppressionRemoved'), stream }
    const row = {
      suppression_id: settingIds.suppression,
      org_id: ids.org,
      channel: 'email',
      address: 'canary-suppressed@example.org',
      reason: 'canary-reason',
      added_at: at(4),
      stream_revision: '0',
    }
    expect((await rowsOf(added)).suppressions).toEqual([row])
    expect((await rowsOf(added, removed)).suppressions).toEqual([])
    expect((await rowsOf(added, removed, added)).suppressions).toEqual([{ ...row, stream_revision: '2' }])
    const erased = { ...suppressionFact('SuppressionAdded', { address: null, reason: null }), stream }
    expect((await rowsOf(erased)).suppressions).toEqual([{ ...row, address: null, reason: null }])
  })

  it('has the last value of each preference, and where it was set', async () => {
    const { stream } = notificationPreferences.of(userIds.user)
    const set = { ...preferencesFact('NotificationPreferencesSet'), stream }
    const entries = [{ category: 'marketing', channel: 'email', optedOut: false }] as const
    const later = { organisationId: ids.otherOrg, entries: [...entries], setAt: at(9) }
    const row = { user_id: userIds.user, channel: 'email' }
    expect(
      (await rowsOf(set, { ...preferencesFact('NotificationPreferencesSet', later), stream })).notification_preferences,
    ).toEqual([
      {
        ...row,
        category: 'marketing',
        org_id: ids.otherOrg,
        opted_out: false,
        updated_at: at(9),
        stream_revision: '1',
      },
      {
        ...row,
        category: 'operational',
        org_id: ids.org,
        opted_out: false,
        updated_at: at(3),
        stream_revision: '0',
      },
    ])
  })
})
