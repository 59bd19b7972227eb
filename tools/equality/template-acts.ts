import { noOrganisation } from '../../platform/kit/tenants.ts'
import { notificationTemplates } from '../../streams/notification-template/aggregate.ts'
import { ids } from '../../test/streams/facts.ts'
import { templateFact } from '../../test/streams/notification-template-facts.ts'
import type { Act } from './clinical-acts.ts'

/** A template of an organisation or of the platform. Half of them change. */
export const saveTemplate: Act = (story, random, text) => {
  const templateId = story.id(random)
  const owner = random.oneIn(3) ? null : ids.org
  const orgId = owner ?? noOrganisation
  const { stream } = notificationTemplates.of(orgId, templateId)
  const created = templateFact('NotificationTemplateCreated', {
    templateId,
    orgId: owner,
    subject: random.oneIn(2) ? null : text,
    bodyTemplate: text,
    createdAt: story.instant(random),
  })
  story.append(orgId, stream, created)
  if (random.oneIn(2))
    story.append(
      orgId,
      stream,
      templateFact('NotificationTemplateChanged', { templateId, bodyTemplate: text, changedAt: story.instant(random) }),
    )
}
