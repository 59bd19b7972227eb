import { SuppressionRecord, toSuppressionRecord } from '../../contracts/notifications/settings.ts'
import { changedByOf } from '../../platform/http/access.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import { notificationSettingsProjector } from '../../projections/notifications/notification-settings.projector.ts'
import { suppressions } from '../../streams/suppression/aggregate.ts'
import { created, deleted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { onceByKey } from '../../engine/commands/once-by-key.ts'
import { ownerOf, ownerOfExisting } from './row-owner.ts'
import { addressOf, AddSuppressionBody } from './setting-bodies.ts'
import { addSuppression, removeSuppression, suppressionIdOf } from './suppressions.ts'

export interface SuppressionDependencies extends CommandDependencies {
  /** The owner of a suppression, from a current read model. Throws Problem `not-found`. */
  readonly ownerOfSuppression: (id: string) => Promise<TenantId>
}

const usual = {
  access: { admin: 'notifications:admin', orScope: 'notifications:admin' },
  tenancy: 'optional',
  readBy: [notificationSettingsProjector],
} as const

/** Addresses that get no message (specification 4.6). */
export function suppressionWriteRoutes(app: ServiceApp, deps: SuppressionDependencies): void {
  const { store } = deps
  const streamOf = (owner: TenantId, id: string) => suppressions.of(owner, id)

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/admin/suppressions',
    operationId: 'addSuppression',
    summary: 'Suppress all messages to an address',
    description: 'E-mail addresses are compared without case. A platform client names `orgId`.',
    body: AddSuppressionBody,
    hasEtag: true,
    reply: created(SuppressionRecord, ({ id }) => `/admin/suppressions/${id}`),
    problems: ['org-required', 'platform-client-required', 'suppression-exists'],
    refusals: {
      'suppression-removed': {
        code: 'idempotency-key-reused',
        detail: 'What this key created was removed. Use a fresh key.',
      },
    },
    handle: async ({ tenant, isPlatformWide, caller, body, keyed, now, context, run }) => {
      const orgId = ownerOf({ tenant, isPlatformWide }, body.orgId)
      const owner = orgId ?? noOrganisation
      const { channel, reason } = body
      const address = addressOf(body)
      const suppressionId = suppressionIdOf(deps, { channel, address, orgId })
      const described = { suppressionId, orgId, channel, address, reason }
      const command = { ...described, changedBy: changedByOf(caller), fingerprint: keyed.identity, now }
      const target = streamOf(owner, suppressionId)
      const hasHappened = async () => (await store.readLast(target.stream)) !== undefined
      const keyOwner = { orgId: owner, ownerId: suppressionId, ownerStream: target.stream, hasHappened }
      const done = await onceByKey(deps, keyed, keyOwner, context, () =>
        run(target, (state) => addSuppression(command, state)),
      )
      return { ...done, record: toSuppressionRecord(done.state) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'DELETE',
    path: '/admin/suppressions/:id',
    operationId: 'removeSuppression',
    summary: 'Let messages to an address pass again',
    ifMatch: 'stream',
    reply: deleted,
    problems: ['platform-client-required', 'read-model-behind'],
    handle: async ({ tenant, isPlatformWide, caller, params, now, run }) => {
      const existing = { store, streamOf, findOwner: deps.ownerOfSuppression }
      const owner = await ownerOfExisting(existing, { tenant, isPlatformWide }, params.id)
      const command = { changedBy: changedByOf(caller), now }
      const done = await run(streamOf(owner, params.id), (state) => removeSuppression(command, state))
      return { ...done, record: null }
    },
  })
}
