import { NotificationAccepted } from '../../contracts/notifications/record.ts'
import { problem } from '../../platform/http/problems.ts'
import { latest } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { askingForOrganisation } from '../../platform/http/tenancy.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { notificationsProjector } from '../../projections/notifications/notifications.projector.ts'
import { isNotification, notifications, type NotificationState } from '../../streams/notification/aggregate.ts'
import type { NotificationErrorCode } from '../../streams/notification/events.ts'
import { notificationQueueRequests } from '../../streams/notification-queue-request/aggregate.ts'
import { mostRequeued } from '../../streams/notification-queue-request/events.ts'
import { accepted, changed } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import { isRefusal } from '../../engine/commands/decision.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import type { KeyedRequest } from '../../engine/commands/keyed-request.ts'
import { ReEnqueueStuckBody, ReEnqueueStuckReply, RetryFailedBody, RetryFailedReply } from './notification-bodies.ts'
import {
  answerQueueRequest,
  requeueEach,
  wouldRequeue,
  type FoundNotifications,
  type Requeued,
} from './queue-requests.ts'
import { reEnqueueNotification, retryNotification } from './requeue-notification.ts'

/** The lists come from the read model, which must contain everything recorded until now. */
export interface QueueRouteDependencies extends CommandDependencies {
  readonly failedNotifications: (
    tenant: TenantId,
    failures: { readonly errorCode: NotificationErrorCode; readonly since: string },
    limit: number,
  ) => Promise<FoundNotifications>
  readonly stuckNotifications: (
    tenant: TenantId,
    stuck: { readonly dueBefore: Date; readonly now: Date },
    limit: number,
  ) => Promise<FoundNotifications>
}

const usual = {
  method: 'POST',
  access: { admin: 'notifications:admin', orScope: 'notifications:admin' },
  tenancy: 'or-none',
  readBy: [notificationsProjector],
} as const

/** Operators send failed and stuck notifications again. */
export function notificationQueueRoutes(app: ServiceApp, deps: QueueRouteDependencies): void {
  const { store, configuration, failedNotifications, stuckNotifications } = deps
  const { notificationRetryScheduleMs, notificationAtLeastOnceCategories } = configuration
  const rules = {
    retryScheduleMs: notificationRetryScheduleMs,
    atLeastOnceCategories: notificationAtLeastOnceCategories,
  }

  commandRoute(app, deps, {
    ...usual,
    path: '/admin/queue/failed/:id/retry',
    operationId: 'retryFailedNotification',
    summary: 'Send a failed notification again',
    description: 'The same notification is queued with a whole round of tries. Its attempts count on.',
    reply: accepted(NotificationAccepted, ({ id }) => `/${id}`),
    problems: ['notification-not-failed', 'subject-erased'],
    handle: async ({ tenant, params: { id }, keyed, now, run }) => {
      const command = { request: keyed.causing, now }
      const done = await run(notifications.of(tenant, id), (state) => retryNotification(command, state)).catch(
        askingForOrganisation(tenant),
      )
      if (!isNotification(done.state)) throw problem('internal-error')
      return { ...done, record: { id, status: done.state.status }, retryAfterSeconds: 1 }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    path: '/admin/queue/failed/retry',
    operationId: 'retryFailedNotifications',
    summary: 'Send all failed notifications of one kind again',
    description:
      'The notifications that failed with `errorCode` since an instant, oldest failure first. For example after wrong credentials of a provider were corrected.',
    body: RetryFailedBody,
    reply: accepted(RetryFailedReply, () => '/admin/queue/failed'),
    problems: ['read-model-behind'],
    handle: async ({ tenant, body, keyed, now, context, run }) => {
      const failures = { errorCode: body.errorCode, since: new Date(body.since).toISOString() }
      const decide = (state: NotificationState) => {
        const decision = retryNotification({ request: null, now }, state)
        return isRefusal(decision) ? [] : decision
      }
      const target = notificationQueueRequests.of(tenant, keyed.id)
      const found = await unlessAnswered(target, keyed, () => failedNotifications(tenant, failures, mostRequeued))
      const requeued = await requeueEach(deps, tenant, found.ids, decide, context)
      const answer = { ...answerOf(tenant, keyed, found, requeued), action: 'retry_failed', now } as const
      const done = await run({ ...target, isNew: true }, (state) => answerQueueRequest(answer, state))
      const record = { retried: done.state.notificationIds.length, hasMore: done.state.hasMore }
      return { ...done, reached: latest(requeued.position, done.reached), record, retryAfterSeconds: 1 }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    path: '/admin/queue/re-enqueue-stuck',
    operationId: 'reEnqueueStuckNotifications',
    summary: 'Queue stuck notifications again',
    description:
      'Queued notifications that were due more than `olderThanSeconds` ago are due now. Attempts that a crash cut off end as `delivery_unknown`. With `dryRun` nothing changes, and the answer contains what would.',
    body: ReEnqueueStuckBody,
    mayLackBody: true,
    reply: changed(ReEnqueueStuckReply),
    problems: ['read-model-behind'],
    handle: async ({ tenant, body, keyed, now, context, run }) => {
      const { olderThanSeconds = 300, limit = 500, dryRun = false } = body
      const stuck = { dueBefore: new Date(now.getTime() - olderThanSeconds * 1000), now }
      const list = () => stuckNotifications(tenant, stuck, limit)
      const decide = (state: NotificationState) => {
        const decision = reEnqueueNotification({ ...rules, ...stuck }, state)
        return isRefusal(decision) ? [] : decision
      }
      if (dryRun) {
        const { ids: listed, total } = await list()
        const ids = await wouldRequeue(deps, tenant, listed, decide)
        const record = { requeued: ids.length, ids: [...ids], skipped: total - ids.length }
        return { record, events: [], reached: undefined, revision: 'no_stream', isReplayed: false }
      }
      const target = notificationQueueRequests.of(tenant, keyed.id)
      const found = await unlessAnswered(target, keyed, list)
      const requeued = await requeueEach(deps, tenant, found.ids, decide, context)
      const answer = { ...answerOf(tenant, keyed, found, requeued), action: 're_enqueue_stuck', now } as const
      const done = await run({ ...target, isNew: true }, (state) => answerQueueRequest(answer, state))
      const { notificationIds, skipped } = done.state
      const record = { requeued: notificationIds.length, ids: [...notificationIds], skipped }
      return { ...done, reached: latest(requeued.position, done.reached), record }
    },
  })

  /** A repeat gets the first answer, without a new search. */
  async function unlessAnswered(
    target: ReturnType<typeof notificationQueueRequests.of>,
    { isKeyed }: KeyedRequest,
    list: () => Promise<FoundNotifications>,
  ): Promise<FoundNotifications> {
    const isAnswered = isKeyed && (await store.load(target)).state.status !== 'absent'
    return isAnswered ? { ids: [], total: 0 } : list()
  }
}

function answerOf(
  organisationId: TenantId,
  { id: requestId, fingerprint }: KeyedRequest,
  { ids, total }: FoundNotifications,
  requeued: Requeued,
) {
  const notificationIds = [...requeued.ids]
  const counts = { skipped: total - notificationIds.length, hasMore: total > ids.length }
  return { requestId, organisationId, notificationIds, ...counts, fingerprint }
}
