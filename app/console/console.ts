import type { FastifyInstance } from 'fastify'
import { requireCurrent } from '../../engine/reads/read-route.ts'
import type { Console } from '../../platform/http/application.ts'
import { consoleClient } from '../../platform/http/access.ts'
import { problem } from '../../platform/http/problems.ts'
import { newId } from '../../platform/kit/new-id.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { recordAction } from '../operations/record-action.ts'
import { sendAsset } from './assets.ts'
import type { ConsoleDependencies } from './dependencies.ts'
import { createIdentity } from './identity.ts'
import { callerOf, presentPerson, type Person } from './persons.ts'
import { createSessions, type Session } from './sessions.ts'
import { languageOf, sendPage, shell } from './shell.ts'
import { signInRoutes, type RecordSession } from './sign-in.ts'

/** The addresses of the pages. Each is the same document without data. */
const pages = ['', '/work', '/read-models', '/webhooks', '/log', '/access', '/subjects/:id']

/** The console for operators: its pages, its sign-in and its sessions. */
export function createConsole(deps: ConsoleDependencies): Console {
  const { configuration, egress, now, pool, services, store } = deps
  const { baseUrl, idpMode } = configuration
  const sessions = createSessions(pool, configuration)
  const identity =
    idpMode === 'keycloak' ? createIdentity(egress, configuration, `${baseUrl}/console/callback`) : undefined
  const open = { config: { access: 'public' }, schema: { hide: true } } as const

  const record: RecordSession = async (action, userId, { correlationId }) => {
    const user = { kind: 'user', id: userId } as const
    const at = now().toISOString()
    await recordAction(
      store,
      {
        actionId: newId(),
        action,
        actor: user,
        subject: user,
        reason: null,
        count: 1,
        retried: null,
        projection: null,
        at,
      },
      { commandId: newId(), correlationId, clientId: consoleClient },
    )
  }

  /** @throws Problem `session-missing` for a user who is not active any more */
  async function personIn(session: Session): Promise<Person> {
    const person = await presentPerson(deps, session)
    if (person !== undefined) return person
    await sessions.endAllOf(session.userId)
    throw problem('session-missing')
  }

  function addPages(app: FastifyInstance): void {
    for (const path of pages)
      app.get(`/console${path}`, open, async (request, reply) => sendPage(reply, 200, shell(languageOf(request))))
    app.get<{ Params: { name: string } }>('/console/assets/:name', open, async (request, reply) =>
      sendAsset(request.params.name, request, reply),
    )
    app.get('/console/session', open, async (request) => {
      const session = await sessions.read(request)
      const person = await personIn(session)
      return {
        user: { id: person.userId, display_name: person.displayName },
        permissions: [...person.permissions].toSorted(),
        csrf_token: session.csrfToken,
        expires_at: session.expiresAt.toISOString(),
      }
    })
    app.post('/console/sign-out', open, async (request, reply) => {
      const { userId } = await sessions.read(request)
      await record('console.sign_out', userId, request)
      const idToken = await sessions.end(request)
      reply.header('set-cookie', sessions.endedCookie)
      return { redirect_to: identity?.signOutAddress(idToken, `${baseUrl}/console`) ?? '/console' }
    })
    signInRoutes(app, { ...deps, sessions, identity, record })
  }

  return {
    services: services(async (request) => {
      const person = await personIn(await sessions.read(request, false))
      if (!person.permissions.has('operations:read')) throw problem('permission-missing')
    }),
    addPages,
    /**
     * What operators see needs no event store, so a role that was taken away counts as soon as the read model has it. All
     * else needs a read model that is current.
     */
    async personOf(request) {
      const isOfOperators = request.routeOptions.config.route?.service === 'operations'
      const session = await sessions.read(request)
      if (!isOfOperators || request.method !== 'GET') await requireCurrent(deps, usersProjector)
      return callerOf(await personIn(session), isOfOperators)
    },
  }
}
