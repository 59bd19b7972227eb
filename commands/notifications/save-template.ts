import {
  templateIdOf,
  type NotificationTemplate,
  type NotificationTemplateState,
} from '../../streams/notification-template/aggregate.ts'
import type { NotificationTemplateEvent } from '../../streams/notification-template/events.ts'
import type { Decision } from '../../engine/commands/decision.ts'

export type TemplateContent = Pick<
  NotificationTemplate,
  'orgId' | 'code' | 'channel' | 'locale' | 'category' | 'phi' | 'subject' | 'bodyTemplate'
>

export interface SaveTemplate extends TemplateContent {
  /** A platform's own template, from the program. A saved one keeps its source. */
  readonly isSeed: boolean
  readonly now: Date
}

const compared = ['category', 'phi', 'subject', 'bodyTemplate', 'source'] as const
const versioned = ['subject', 'bodyTemplate'] as const

/** Creates a template or replaces its content. The same content again changes nothing. */
export function saveTemplate(
  { isSeed, now, ...template }: SaveTemplate,
  state: NotificationTemplateState,
): Decision<NotificationTemplateEvent> {
  const at = now.toISOString()
  const templateId = templateIdOf(template)
  if (state.status === 'absent') {
    const data = { ...template, templateId, source: isSeed ? 'seeded' : 'custom', version: 1, createdAt: at } as const
    return [{ type: 'NotificationTemplateCreated', data }]
  }
  const { category, phi, subject, bodyTemplate } = template
  const after = { category, phi, subject, bodyTemplate, source: isSeed ? 'seeded' : state.source } as const
  if (compared.every((member) => after[member] === state[member])) return []
  const isNewText = versioned.some((member) => after[member] !== state[member])
  const version = state.version + (isNewText ? 1 : 0)
  return [{ type: 'NotificationTemplateChanged', data: { templateId, ...after, version, changedAt: at } }]
}
