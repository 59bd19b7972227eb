import { RenderFault, TemplateFault } from '../../platform/templates/faults.ts'
import { compileTemplate, type Rendered, type Variables } from '../../platform/templates/rendering.ts'
import { isStoppable, unsubscribeHeaders, unsubscribeUrl } from '../../commands/notifications/unsubscribe-links.ts'
import { readJsonText } from '../../platform/kit/json-reading.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { NotificationTemplate } from '../../streams/notification-template/aggregate.ts'
import type { Notification } from '../../streams/notification/aggregate.ts'
import type { NotificationCategory } from '../../streams/types.ts'
import type { SendOutcome } from '../adapters/notification-sender.ts'
import type { ProcessDependencies } from '../dependencies.ts'

interface Making {
  readonly template: NotificationTemplate
  readonly orgId: TenantId
  readonly address: string
  /** All that the template ever had for this notification. */
  readonly categories: readonly NotificationCategory[]
}

/** A rendered message, ready for its provider; or the reason why there is none. */
type Message =
  | { readonly providerName: string; readonly send: (signal: AbortSignal) => Promise<SendOutcome> }
  | { readonly errorDetail: string }

export async function messageFor(
  { notificationId, recipientType, recipientRef, variables, channel }: Notification,
  { template, orgId, address, categories }: Making,
  deps: ProcessDependencies,
): Promise<Message> {
  if (variables === null) return { errorDetail: 'the variables were erased' }
  // A link stops what the message is now, if it can be stopped.
  const category = [template.category, ...categories].find(isStoppable)
  const stoppable =
    recipientType === 'user' && recipientRef !== null && category !== undefined
      ? { userId: recipientRef, orgId, category, channel }
      : null
  const url = stoppable && (await unsubscribeUrl(deps, stoppable))
  const given = variablesIn(variables)
  const rendered = await render(template, url === null ? given : Object.assign(given, { unsubscribeUrl: url }))
  if ('errorDetail' in rendered) return rendered
  const { subject, html, text } = rendered
  if (channel === 'slack') {
    const chat = { notificationId, channel: address, text }
    return { providerName: deps.chats.providerName, send: (signal) => deps.chats.send(chat, signal) }
  }
  const headers = stoppable && (await unsubscribeHeaders(deps, stoppable))
  const mail = { notificationId, to: address, subject: subject ?? '', html: html ?? '', text, headers: { ...headers } }
  return { providerName: deps.mails.providerName, send: (signal) => deps.mails.send(mail, signal) }
}

function variablesIn(text: string): Variables {
  const variables: unknown = readJsonText(text)
  return typeof variables === 'object' && variables !== null ? { ...variables } : {}
}

/** Other errors are ours: the step fails, and is tried again. */
async function render(
  template: NotificationTemplate,
  variables: Variables,
): Promise<Rendered | { readonly errorDetail: string }> {
  try {
    const compiled = await compileTemplate(template)
    return await compiled.render(variables)
  } catch (error) {
    if (error instanceof RenderFault) return { errorDetail: error.errorDetail }
    if (error instanceof TemplateFault) return { errorDetail: error.message }
    throw error
  }
}
