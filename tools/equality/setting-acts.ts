import { noOrganisation } from '../../platform/kit/tenants.ts'
import { notificationPreferences } from '../../streams/notification-preferences/aggregate.ts'
import { notificationSubscriptions } from '../../streams/notification-subscription/aggregate.ts'
import { suppressions } from '../../streams/suppression/aggregate.ts'
import { ids } from '../../test/streams/facts.ts'
import { preferencesFact, ruleFact, suppressionFact } from '../../test/streams/notification-settings-facts.ts'
import type { Act } from './clinical-acts.ts'
import { publishedTypes } from './public-acts.ts'

/** A rule of an organisation or of the platform. Half of them change, and half of those end. */
export const changeRule: Act = (story, random) => {
  const subscriptionId = story.id(random)
  const orgId = random.oneIn(3) ? null : ids.org
  const of = { subscriptionId, orgId, eventType: random.pick(publishedTypes) }
  const owner = orgId ?? noOrganisation
  const { stream } = notificationSubscriptions.of(owner, subscriptionId)
  story.append(owner, stream, ruleFact('NotificationSubscriptionCreated', { ...of, createdAt: story.instant(random) }))
  if (random.oneIn(2)) return
  story.append(owner, stream, ruleFact('NotificationSubscriptionChanged', { ...of, changedAt: story.instant(random) }))
  if (random.oneIn(2)) story.append(owner, stream, ruleFact('NotificationSubscriptionDeleted', of))
}

/** An address of an organisation or of the platform, which may be removed and added again. */
export const suppressAddress: Act = (story, random, text) => {
  const suppressionId = story.id(random)
  const orgId = random.oneIn(3) ? null : ids.org
  const of = { suppressionId, orgId }
  const owner = orgId ?? noOrganisation
  const { stream } = suppressions.of(owner, suppressionId)
  const add = () => {
    const added = { ...of, address: text, reason: text, addedAt: story.instant(random) }
    story.append(owner, stream, suppressionFact('SuppressionAdded', added))
  }
  add()
  if (random.oneIn(2)) return
  story.append(owner, stream, suppressionFact('SuppressionRemoved', of))
  if (random.oneIn(2)) add()
}

/** Opt-outs of a user. Half of them are followed by an opt-in in another organisation. */
export const setPreferences: Act = (story, random) => {
  const userId = story.id(random)
  const { stream } = notificationPreferences.of(userId)
  const set = (changes: Parameters<typeof preferencesFact<'NotificationPreferencesSet'>>[1]) => {
    const fact = preferencesFact('NotificationPreferencesSet', { userId, ...changes, setAt: story.instant(random) })
    story.append(ids.org, stream, fact)
  }
  set({})
  if (random.oneIn(2))
    set({ organisationId: ids.otherOrg, entries: [{ category: 'marketing', channel: 'email', optedOut: false }] })
}
