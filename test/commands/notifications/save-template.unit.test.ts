import { describe, expect, it } from 'vitest'
import { compileTemplate } from '../../../platform/templates/rendering.ts'
import { saveTemplate } from '../../../commands/notifications/save-template.ts'
import { seededTemplates } from '../../../commands/notifications/seeded-templates.ts'
import { notificationTemplates } from '../../../streams/notification-template/aggregate.ts'
import { auditPublicFact } from '../../streams/access-log-facts.ts'
import { assessmentPublicFact, consentPublicFact, webhookPublicFact } from '../../streams/channel-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { templateFact } from '../../streams/notification-template-facts.ts'
import { usersPublicFact } from '../../streams/user-facts.ts'
import { given } from '../../support/given-decider.ts'

const created = templateFact('NotificationTemplateCreated')
const { category, phi, subject, bodyTemplate } = created.data
const content = { category, phi, subject, bodyTemplate }
const command = {
  ...content,
  orgId: ids.org,
  code: 'assessment.completed',
  channel: 'email',
  locale: 'en-GB',
  isSeed: false,
  now: new Date(at(10)),
} as const

describe('saving a template', () => {
  it('creates it in version 1', () => {
    given(notificationTemplates)
      .when(saveTemplate, { ...command, now: new Date(at(0)) })
      .thenEvents([created])
  })

  it.each([
    [{ bodyTemplate: 'x' }, 2],
    [{ subject: null }, 2],
    [{ category: 'operational' }, 1],
    [{ phi: false }, 1],
  ] as const)('with %j gives version %i', (change, version) => {
    const data = { templateId: created.data.templateId, source: 'custom', ...content, ...change, version } as const
    given(notificationTemplates, created)
      .when(saveTemplate, { ...command, ...change })
      .thenEvents([{ type: 'NotificationTemplateChanged', data: { ...data, changedAt: at(10) } }])
  })

  it('with the same content changes nothing', () => {
    given(notificationTemplates, created).when(saveTemplate, command).thenNothing()
  })

  it('as a seed takes over a custom template of the same place, without a new version', () => {
    const data = { templateId: created.data.templateId, source: 'seeded', ...content, version: 1 } as const
    given(notificationTemplates, created)
      .when(saveTemplate, { ...command, isSeed: true })
      .thenEvents([{ type: 'NotificationTemplateChanged', data: { ...data, changedAt: at(10) } }])
  })
})

describe('the seeded templates', () => {
  const publicEvents = new Map<string, object>(
    [assessmentPublicFact, auditPublicFact, consentPublicFact, usersPublicFact, webhookPublicFact].flatMap(
      ({ usual }) => Object.entries(usual),
    ),
  )
  /** The template of emergencies has the name of its event without the domain. */
  const eventOf = (code: string) => publicEvents.get(code) ?? publicEvents.get(`audit.${code}`)

  it('are seven codes, each as a mail in two languages, and in the chat where no patient is concerned', () => {
    const places = seededTemplates.map(({ code, channel, locale }) => `${code} ${channel} ${locale}`)
    expect(new Set(places).size).toBe(places.length)
    expect(new Set(seededTemplates.map(({ code }) => code)).size).toBe(7)
    expect(seededTemplates.filter(({ channel }) => channel === 'email')).toHaveLength(14)
    expect(seededTemplates.filter(({ channel, phi }) => channel === 'slack' && phi)).toEqual([])
    expect(seededTemplates.filter(({ channel }) => channel === 'slack')).toHaveLength(8)
  })

  it.each(seededTemplates)(
    '$code for $channel in $locale renders from the members of its event alone',
    async (template) => {
      const event = eventOf(template.code)
      expect(event).toBeDefined()
      const compiled = await compileTemplate(template)
      const { subject, text } = await compiled.render({ ...event })
      expect(text.length).toBeGreaterThan(20)
      expect(text).not.toMatch(/[<>{}]/)
      expect(
        compiled.variables.filter((name) => name !== 'unsubscribeUrl' && !Object.hasOwn(event ?? {}, name)),
      ).toEqual([])
      if (template.phi) expect(compiled.subjectVariables).toEqual([])
      expect(subject === null).toBe(template.channel === 'slack')
    },
  )
})
