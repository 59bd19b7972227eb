import { v5 } from 'uuid'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { notificationTemplateEvents, type NotificationTemplateEvent } from './events.ts'

type Created = Extract<NotificationTemplateEvent, { type: 'NotificationTemplateCreated' }>['data']

/** The members that distinguish a template from the others of its code. */
export type TemplateVariant = Pick<Created, 'orgId' | 'code' | 'channel' | 'locale'>

export interface NotificationTemplate extends Created {
  readonly updatedAt: string
}

export type NotificationTemplateState =
  | { readonly status: 'absent' }
  | (NotificationTemplate & { readonly status: 'defined' })

export function isDefined(
  state: NotificationTemplateState,
): state is NotificationTemplate & { readonly status: 'defined' } {
  return state.status === 'defined'
}

function evolve(state: NotificationTemplateState, event: NotificationTemplateEvent): NotificationTemplateState {
  switch (event.type) {
    case 'NotificationTemplateCreated':
      return { ...event.data, status: 'defined', updatedAt: event.data.createdAt }
    case 'NotificationTemplateChanged': {
      const { changedAt, ...content } = event.data
      return state.status === 'absent' ? state : { ...state, ...content, updatedAt: changedAt }
    }
  }
}

const variants = 'b3f3a0f4-0b76-5a5c-8d55-6a3a52a9c1e7'

/** Code, channel, locale and organisation are unique, and the id derives from them: one stream per variant. */
export function templateIdOf({ orgId, code, channel, locale }: TemplateVariant): string {
  return v5(`${orgId ?? noOrganisation}/${code}/${channel}/${locale}`, variants)
}

export const notificationTemplates = defineAggregate({
  category: 'notificationtemplate',
  id: idOfOrganisation,
  events: notificationTemplateEvents,
  initialState: { status: 'absent' },
  evolve,
})

export function templateOf(variant: TemplateVariant) {
  return notificationTemplates.of(variant.orgId ?? noOrganisation, templateIdOf(variant))
}
