import { noOrganisation } from '../../platform/kit/tenants.ts'
import { notificationTemplates, templateIdOf, templateOf } from '../../streams/notification-template/aggregate.ts'
import type { NotificationTemplateEvent } from '../../streams/notification-template/events.ts'
import { at, factsOf, ids } from './facts.ts'

const variant = { orgId: ids.org, code: 'assessment.completed', channel: 'email', locale: 'en-GB' } as const
/** A mail of the organisation. */
export const ownTemplate = templateIdOf(variant)
/** The default of the platform of the same code. */
export const platformTemplate = templateIdOf({ ...variant, orgId: null })

const content = {
  source: 'custom',
  category: 'clinical',
  phi: true,
  subject: 'An assessment is complete',
  bodyTemplate: '<p>The assessment {{assessment_id}} is complete.</p>',
  version: 1,
} as const

export const templateFact = factsOf<NotificationTemplateEvent>({
  NotificationTemplateCreated: { templateId: ownTemplate, ...variant, ...content, createdAt: at(0) },
  NotificationTemplateChanged: {
    templateId: ownTemplate,
    ...content,
    bodyTemplate: '<p>{{assessment_id}} is complete.</p>',
    version: 2,
    changedAt: at(10),
  },
})

/** A fact of the organisation's template, in its stream. */
export const ofTemplate = (event: NotificationTemplateEvent) => ({ ...event, stream: templateOf(variant).stream })

/** A default of the platform, in its stream. */
export const ofPlatformTemplate = (event: NotificationTemplateEvent) => ({
  ...event,
  stream: notificationTemplates.of(noOrganisation, event.data.templateId).stream,
})
