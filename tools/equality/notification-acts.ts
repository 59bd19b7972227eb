import { notifications } from '../../streams/notification/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { notificationFact, trigger } from '../../test/streams/notification-facts.ts'
import { userFact } from '../../test/streams/user-facts.ts'
import type { Act } from './clinical-acts.ts'

const outcomes = ['NotificationSent', 'NotificationSuppressed', 'NotificationFailed'] as const

/** A notification from a client or a rule to a user, through attempts of every kind. The user may be erased. */
export const sendNotification: Act = (story, random, text) => {
  const orgId = tenantOfFact(story.id(random).toLowerCase())
  const notificationId = story.id(random)
  const userId = story.id(random)
  const { stream } = notifications.of(orgId, notificationId)
  const now = () => story.instant(random)
  const add = (...facts: ReturnType<typeof notificationFact>[]) => story.append(orgId, stream, ...facts)
  const subject = { phiSubject: userId, phiKeyOwner: 'platform' as const }
  // Its mail is an access to a patient.
  const content = random.oneIn(2) ? subject : { phiSubject: story.id(random), phiKeyOwner: 'organisation' as const }
  const ofRule = { ...trigger, eventId: story.id(random), subscriptionId: story.id(random) }
  if (random.oneIn(6)) {
    add(
      notificationFact('NotificationDiscarded', {
        notificationId,
        organisationId: orgId,
        trigger: ofRule,
        discardedAt: now(),
      }),
    )
    return
  }
  const variables = JSON.stringify({ text })
  add(
    notificationFact('NotificationCreated', {
      notificationId,
      organisationId: orgId,
      recipientRef: userId,
      variables,
      ...content,
      trigger: random.oneIn(2) ? ofRule : null,
      createdAt: now(),
    }),
    notificationFact('NotificationQueued', { notificationId, nextAttemptAt: now(), queuedAt: now() }),
  )
  const end = random.pick(['withdrawn', 'retried', 'open', ...outcomes] as const)
  for (const attempt of [1, 2]) {
    const attemptId = story.id(random)
    const ended = { attemptId, attempt, response: random.oneIn(2) ? null : { status: attempt }, latencyMs: attempt }
    const started = { notificationId, attemptId, attempt, resolvedAddress: `${text}@example.org`, ...subject }
    add(notificationFact('NotificationAttemptStarted', { ...started, startedAt: now(), leaseUntil: now() }))
    const next = { notificationId, nextAttemptAt: now() }
    if (end === 'open' || (end === 'withdrawn' && attempt === 2)) {
      if (end === 'withdrawn')
        add(notificationFact('NotificationAttemptWithdrawn', { ...next, attemptId, attempts: 1, withdrawnAt: now() }))
      break
    }
    if (attempt === 1 || end === 'retried' || end === 'withdrawn')
      add(
        notificationFact('NotificationRetryScheduled', {
          ...next,
          ended,
          errorDetail: text.slice(0, 1000),
          failedAt: now(),
        }),
      )
    else add(notificationFact(end, { notificationId, ended }))
  }
  if (random.oneIn(2)) return
  const erased = { userId, organisationIds: [orgId], changedAt: now() }
  story.append(orgId, users.of(userId).stream, userFact('UserCreated', { userId, externalId: userId }))
  story.append(orgId, users.of(userId).stream, userFact('UserErasureStarted', erased))
}
