import { Type } from 'typebox'
import {
  NotificationTemplateDetails,
  NotificationTemplateRecord,
  toTemplateRecord,
} from '../../contracts/notifications/template.ts'
import { toRecord } from '../../engine/reads/records.ts'
import { namedOrg, orgQueryOf } from '../../platform/http/parameters.ts'
import { problem } from '../../platform/http/problems.ts'
import { variantFor } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { notificationTemplatesProjector } from '../../projections/notifications/notification-templates.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  listTemplates,
  placeOfTemplate,
  getTemplate,
  listTemplateVariants,
  type TemplateVariantView,
} from './template-queries.ts'

const shared = {
  access: { admin: 'notifications:admin', orScope: 'notifications:admin' },
  tenancy: 'optional',
  servedBy: [notificationTemplatesProjector],
} as const

const { properties } = NotificationTemplateRecord
const channel = Type.Optional(properties.channel)
/** The organisation of the request. Named, it leaves out the defaults of the platform. */
const orgNames = orgQueryOf('optional')

export function templateReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps

  listRoute(app, deps, {
    ...shared,
    path: '/admin/templates',
    operationId: 'listNotificationTemplates',
    summary: 'Templates, by code',
    description:
      'Those of the organisation and the defaults of the platform; with `orgId` only those of the organisation. A platform client that names none gets those of all.',
    query: { channel, category: Type.Optional(properties.category), ...orgNames },
    list: 'notification-templates',
    sort: 'code',
    pageName: 'NotificationTemplatePage',
    item: NotificationTemplateRecord,
    casing: 'camel',
    // A template has up to 64 KiB.
    greatestPage: 50,
    rows: ({ tenant, query }, page) =>
      listTemplates(pool, tenant, { ...query, isOwnOnly: namedOrg(query) !== undefined }, page),
    placeOf: placeOfTemplate,
    toItem: toTemplateRecord,
  })

  readRoute(app, {
    ...shared,
    path: '/admin/templates/:code',
    operationId: 'getNotificationTemplate',
    summary: 'A template in its newest version, and the others of its code',
    description:
      '`channel`, `locale` and `orgId` select the template. Without them a mail in en-GB comes first, and of two the one of the organisation.',
    params: { code: Type.String({ minLength: 1, maxLength: 255 }) },
    query: { channel, locale: Type.Optional(Type.String({ maxLength: 64 })), ...orgNames },
    reply: NotificationTemplateDetails,
    find: async ({ tenant, params, query }) => {
      const visible = await listTemplateVariants(pool, tenant, params.code)
      const orgId = namedOrg(query) === undefined ? undefined : tenant
      const chosen = preferred(visible.filter((variant) => isSelected(variant, { ...query, orgId })))
      if (chosen === undefined) throw problem('not-found')
      const view = await getTemplate(pool, tenant, chosen.templateId)
      const others = visible.filter((variant) => variant !== chosen)
      const variants = others.map((other) => ({ ...other, id: other.templateId }))
      // Templates are never removed, so each change of another one makes the sum greater.
      const changes = others.reduce((sum, { streamRevision }) => sum + Number(streamRevision) + 1, 0)
      return {
        body: toRecord(NotificationTemplateDetails, { ...view, id: view.templateId, variants }),
        revision: BigInt(view.streamRevision),
        variant: variantFor(tenant, changes),
      }
    },
  })
}

interface Selection {
  readonly channel?: string | undefined
  readonly locale?: string | undefined
  readonly orgId?: string | null | undefined
}

function isSelected(variant: TemplateVariantView, wanted: Selection): boolean {
  return (
    (wanted.channel === undefined || variant.channel === wanted.channel) &&
    (wanted.locale === undefined || variant.locale.toLowerCase() === wanted.locale.toLowerCase()) &&
    (wanted.orgId === undefined || variant.orgId === wanted.orgId)
  )
}

/** Mails first, then the default locale, then the organisation's own. Of equals the newest, which comes first. */
function preferred(variants: readonly TemplateVariantView[]): TemplateVariantView | undefined {
  const rankOf = ({ channel, locale, orgId }: TemplateVariantView) =>
    (channel === 'email' ? 4 : 0) + (locale === 'en-GB' ? 2 : 0) + (orgId === null ? 0 : 1)
  return variants.toSorted((one, other) => rankOf(other) - rankOf(one))[0]
}
