import { NotificationSubscriptionRecord, toSubscriptionRecord } from '../../contracts/notifications/settings.ts'
import { changedByOf } from '../../platform/http/access.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import { notificationSettingsProjector } from '../../projections/notifications/notification-settings.projector.ts'
import {
  notificationSubscriptions,
  type NotificationSubscription,
} from '../../streams/notification-subscription/aggregate.ts'
import { changed, created, deleted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { defaultLocale, findTemplate } from './find-template.ts'
import { ownerOf, ownerOfExisting } from './row-owner.ts'
import { ChangeSubscriptionBody, CreateSubscriptionBody, recipientRuleOf } from './setting-bodies.ts'
import { changeSubscription, createSubscription, deleteSubscription, mostRules } from './subscriptions.ts'

export interface SubscriptionDependencies extends CommandDependencies {
  /** The owner of a subscription, from a current read model. Throws Problem `not-found`. */
  readonly ownerOfSubscription: (id: string) => Promise<TenantId>
  /** The number of rules of an organisation, or (null) of the platform, up to a limit. */
  readonly countRules: (orgId: TenantId | null, limit: number) => Promise<number>
}

/** @throws Problem `validation-failed` unless every recipient of the rule has a template to fall back to */
async function requireTemplate(
  { store }: Pick<CommandDependencies, 'store'>,
  { orgId, templateCode, recipientRule }: Pick<NotificationSubscription, 'orgId' | 'templateCode' | 'recipientRule'>,
): Promise<void> {
  const channel = recipientRule.type === 'slackChannel' ? 'slack' : 'email'
  const template = await findTemplate(store, { code: templateCode, channel, locale: null, orgId })
  if (template === undefined)
    throw invalidMember('/templateCode', `has no template for ${channel} in ${defaultLocale}`, 'unknown-template')
}

const usual = {
  access: { admin: 'notifications:admin', orScope: 'notifications:admin' },
  tenancy: 'optional',
  readBy: [notificationSettingsProjector],
} as const

const loopRefusal = {
  code: 'validation-failed',
  member: 'recipientRule',
  detail: 'must be of type slackChannel for an event about notifications',
  rule: 'recipient-rule',
} as const

/** Which events become messages, and to whom (specification 4.6). */
export function subscriptionWriteRoutes(app: ServiceApp, deps: SubscriptionDependencies): void {
  const { store } = deps
  const streamOf = (owner: TenantId, id: string) => notificationSubscriptions.of(owner, id)
  const existing = { store, streamOf, findOwner: deps.ownerOfSubscription }

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/admin/subscriptions',
    operationId: 'createNotificationSubscription',
    summary: 'Create a rule that sends a message for each event of a type',
    description: 'The rule holds for events that are recorded after it. A platform client names `orgId`.',
    body: CreateSubscriptionBody,
    hasEtag: true,
    reply: created(NotificationSubscriptionRecord, ({ id }) => `/admin/subscriptions/${id}`),
    problems: ['org-required', 'platform-client-required', 'rule-limit'],
    refusals: {
      'subscription-deleted': {
        code: 'idempotency-key-reused',
        detail: 'What this key created was removed. Use a fresh key.',
      },
      'person-for-notification-event': loopRefusal,
    },
    handle: async ({ tenant, isPlatformWide, caller, body, keyed, now, run }) => {
      const orgId = ownerOf({ tenant, isPlatformWide }, body.orgId)
      const { eventType, templateCode, enabled = true } = body
      const command = {
        subscriptionId: keyed.id,
        orgId,
        eventType,
        templateCode,
        recipientRule: recipientRuleOf(body.recipientRule),
        enabled,
        changedBy: changedByOf(caller),
        fingerprint: keyed.fingerprint,
        rules: await deps.countRules(orgId, mostRules),
        now,
      }
      await requireTemplate(deps, command)
      const target = { ...streamOf(orgId ?? noOrganisation, keyed.id), isNew: true }
      const done = await run(target, (state) => createSubscription(command, state))
      return { ...done, record: toSubscriptionRecord(done.state) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'PATCH',
    path: '/admin/subscriptions/:id',
    operationId: 'changeNotificationSubscription',
    summary: 'Change, enable or disable a rule',
    description: 'Members that are left out stay as they are. `orgId` selects the rule, and does not move it.',
    body: ChangeSubscriptionBody,
    hasEtag: true,
    ifMatch: 'stream',
    reply: changed(NotificationSubscriptionRecord),
    problems: ['platform-client-required', 'read-model-behind'],
    refusals: { 'person-for-notification-event': loopRefusal },
    handle: async ({ tenant, isPlatformWide, caller, params, body, now, run }) => {
      const owner = await ownerOfExisting(existing, { tenant, isPlatformWide }, params.id, body.orgId)
      const { enabled, templateCode } = body
      const recipientRule = body.recipientRule && recipientRuleOf(body.recipientRule)
      const command = { enabled, templateCode, recipientRule, changedBy: changedByOf(caller), now }
      const target = streamOf(owner, params.id)
      if (templateCode !== undefined || recipientRule !== undefined) {
        const { state } = await store.load(target)
        if (state.status !== 'existing') throw problem('not-found')
        const { orgId } = state
        await requireTemplate(deps, {
          orgId,
          templateCode: templateCode ?? state.templateCode,
          recipientRule: recipientRule ?? state.recipientRule,
        })
      }
      const done = await run(target, (state) => changeSubscription(command, state))
      return { ...done, record: toSubscriptionRecord(done.state) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'DELETE',
    path: '/admin/subscriptions/:id',
    operationId: 'deleteNotificationSubscription',
    summary: 'Delete a rule',
    ifMatch: 'stream',
    reply: deleted,
    problems: ['platform-client-required', 'read-model-behind'],
    handle: async ({ tenant, isPlatformWide, caller, params, now, run }) => {
      const owner = await ownerOfExisting(existing, { tenant, isPlatformWide }, params.id)
      const command = { changedBy: changedByOf(caller), now }
      const done = await run(streamOf(owner, params.id), (state) => deleteSubscription(command, state))
      return { ...done, record: null }
    },
  })
}
