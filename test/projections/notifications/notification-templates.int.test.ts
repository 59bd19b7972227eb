import { expect, it } from 'vitest'
import { notificationTemplatesProjector } from '../../../projections/notifications/notification-templates.projector.ts'
import { at, ids } from '../../streams/facts.ts'
import {
  ofPlatformTemplate,
  ofTemplate,
  ownTemplate,
  platformTemplate,
  templateFact,
} from '../../streams/notification-template-facts.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'

it('has a row for each template, with its newest content', async () => {
  const { templates } = await rowsAfter(
    notificationTemplatesProjector,
    recorded([
      ofTemplate(templateFact('NotificationTemplateCreated')),
      ofTemplate(templateFact('NotificationTemplateChanged')),
      ofPlatformTemplate(
        templateFact('NotificationTemplateCreated', { templateId: platformTemplate, orgId: null, source: 'seeded' }),
      ),
    ]),
  )
  const row = {
    template_id: ownTemplate,
    org_id: ids.org,
    code: 'assessment.completed',
    channel: 'email',
    locale: 'en-GB',
    category: 'clinical',
    phi: true,
    subject: 'An assessment is complete',
    body_template: '<p>{{assessment_id}} is complete.</p>',
    version: 2,
    source: 'custom',
    created_at: at(0),
    updated_at: at(10),
    stream_revision: '1',
  }
  const expected = [
    row,
    {
      ...row,
      template_id: platformTemplate,
      org_id: null,
      body_template: '<p>The assessment {{assessment_id}} is complete.</p>',
      version: 1,
      source: 'seeded',
      updated_at: at(0),
      stream_revision: '0',
    },
  ]
  expect(templates?.toSorted((one, other) => String(one['source']).localeCompare(String(other['source'])))).toEqual(
    expected,
  )
})
