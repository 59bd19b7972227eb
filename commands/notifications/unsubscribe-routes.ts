import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { answers } from '../../platform/http/answers.ts'
import { answerWrite } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { notificationSettingsProjector } from '../../projections/notifications/notification-settings.projector.ts'
import { notificationPreferences } from '../../streams/notification-preferences/aggregate.ts'
import { isUser, users } from '../../streams/user/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute } from '../../engine/commands/execute.ts'
import { hasOptedInSince, optOutByLink } from './preferences.ts'
import { openUnsubscribeToken, type OpenedLink } from './unsubscribe-links.ts'
import { donePage, optedInPage, pageHeaders, questionPage, refusalPages, type Page } from './unsubscribe-pages.ts'

const html = (description: string) => ({ description, content: { 'text/html': { schema: Type.String() } } })

const positionHeader = {
  'X-Commit-Position': { type: 'string', description: 'Position of the write, for X-Min-Commit-Position' },
}

const described = {
  querystring: Type.Object({ token: Type.String({ minLength: 1, maxLength: 2048 }) }),
  response: answers({ 200: html('A page'), 404: html('The link is not valid'), 410: html('The link has expired') }, [
    'database-unavailable',
    'event-store-unavailable',
    'written-by-newer-version',
    'record-unreadable',
    'conflict',
  ]),
} as const

/** One-click unsubscription (RFC 8058). The token in the address is the only credential. */
export function unsubscribeRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, now } = deps

  app.get(
    '/unsubscribe',
    {
      schema: {
        ...described,
        operationId: 'askToUnsubscribe',
        summary: 'A page with a button that stops messages of a kind',
        description: 'Changes nothing.',
      },
      config: { access: 'public' },
    },
    async ({ query }, reply) => {
      const link = await openedLink(query.token)
      return send(reply, typeof link === 'string' ? refusalPages[link] : questionPage(link))
    },
  )

  app.post(
    '/unsubscribe',
    {
      schema: {
        ...described,
        response: { ...described.response, 200: { ...described.response[200], headers: positionHeader } },
        operationId: 'unsubscribe',
        summary: 'Stop messages of a kind to a user',
        description:
          'For the one-click button of mail programs, which send `List-Unsubscribe=One-Click` as a form of any kind, and for the page. Used again, it changes nothing. It has no effect if the user has opted in after the message.',
      },
      config: { access: 'public', form: 'ignored' },
    },
    async (request, reply) => {
      const link = await openedLink(request.query.token)
      if (typeof link === 'string') return send(reply, refusalPages[link])
      const { userId, orgId, ...kind } = link
      const command = { userId, organisationId: orgId, ...kind, now: now() }
      const { state, reached } = await execute(
        store,
        notificationPreferences.of(userId),
        (before) => optOutByLink(command, before),
        commandContext(request, { orgId }),
      )
      const { html: body } = hasOptedInSince(state, kind) ? optedInPage(kind) : donePage(kind)
      reply.headers(pageHeaders)
      return answerWrite(reply, { status: 200, body, position: reached, readBy: [notificationSettingsProjector] })
    },
  )

  /** The link of a user that was erased is not valid. */
  async function openedLink(token: string): Promise<OpenedLink | keyof typeof refusalPages> {
    const link = await openUnsubscribeToken(deps, token)
    if (typeof link === 'string') return link
    return isUser((await store.load(users.of(link.userId))).state) ? link : 'invalid'
  }
}

function send(reply: FastifyReply, { status, html: body }: Page) {
  return reply.code(status).headers(pageHeaders).send(body)
}
