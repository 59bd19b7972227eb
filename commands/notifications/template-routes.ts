import {
  SavedNotificationTemplate,
  toTemplateRecord,
  type NotificationTemplateRecord,
} from '../../contracts/notifications/template.ts'
import { problem } from '../../platform/http/problems.ts'
import { refuseCreation } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { notificationTemplatesProjector } from '../../projections/notifications/notification-templates.projector.ts'
import { isDefined, templateOf } from '../../streams/notification-template/aggregate.ts'
import { createdOrFound } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { ownerOf } from './row-owner.ts'
import { saveTemplate } from './save-template.ts'
import { PutTemplateBody, requireCode, TemplateCode, variantOf } from './template-bodies.ts'
import { previewRoute } from './preview-route.ts'
import { compiledOrRefused } from './template-problems.ts'

export function templateWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  previewRoute(app, deps)

  commandRoute(app, deps, {
    method: 'PUT',
    path: '/admin/templates/:code',
    textParams: { code: TemplateCode },
    operationId: 'putNotificationTemplate',
    summary: 'Create a template or replace its content',
    description:
      'Code, channel, locale and organisation name the template. The version increases when subject or body change. A platform client names `orgId`, null for the default of every organisation.',
    access: { admin: 'notifications:admin', orScope: 'notifications:admin' },
    tenancy: 'optional',
    body: PutTemplateBody,
    hasEtag: true,
    ifMatch: 'stream',
    reply: createdOrFound(SavedNotificationTemplate, locationOf),
    readBy: [notificationTemplatesProjector],
    problems: ['platform-client-required', 'org-required'],
    handle: async ({ params, body, now, run, request, ...caller }) => {
      const { category, phi, subject = null, bodyTemplate } = body
      const variant = {
        ...variantOf(body, '/locale'),
        code: requireCode(params.code),
        orgId: ownerOf(caller, body.orgId),
      }
      await compiledOrRefused({ channel: variant.channel, subject, bodyTemplate })
      const command = { ...variant, category, phi, subject, bodyTemplate, isSeed: false, now }
      const done = await run(templateOf(variant), (state) => {
        if (!isDefined(state)) refuseCreation(request)
        return saveTemplate(command, state)
      })
      if (!isDefined(done.state)) throw problem('internal-error')
      const record = { ...toTemplateRecord(done.state), warnings: warningsOf(done.state) }
      return { ...done, record, isFound: done.events[0]?.type !== 'NotificationTemplateCreated' }
    },
  })
}

function warningsOf({
  source,
  channel,
  phi,
}: Pick<NotificationTemplateRecord, 'source' | 'channel' | 'phi'>): string[] {
  return [
    ...(source === 'seeded' ? ['This template is seeded. It is overwritten on next deploy.'] : []),
    ...(phi && channel === 'slack' ? ['A template with phi is never sent to a chat: its messages will fail.'] : []),
  ]
}

function locationOf({ code, channel, locale, orgId }: NotificationTemplateRecord): string {
  const query = new URLSearchParams({ channel, locale, ...(orgId === null ? {} : { orgId }) })
  return `/admin/templates/${code}?${query.toString()}`
}
