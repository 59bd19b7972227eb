import { createSecretKey } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Check } from 'typebox/schema'
import { holderOfAddress } from '../../commands/users/user-reservations.ts'
import { Problem, problem } from '../../platform/http/problems.ts'
import { areEqualSecrets, openBytes, sealBytes } from '../../platform/kit/sealed-bytes.ts'
import { isMailAddress } from '../../platform/kit/mail-address.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { cookieOf, cookieText } from './cookies.ts'
import type { ConsoleDependencies } from './dependencies.ts'
import type { Identity, SignInChecks } from './identity.ts'
import { operatorOf, type Person } from './persons.ts'
import { requireSameOrigin, type Sessions } from './sessions.ts'
import { languageOf, sendPage } from './shell.ts'
import { formPage, goOnPage, messagePage } from './sign-in-pages.ts'

const cookieName = '__Host-console-sign-in'
const lifeSeconds = 600
const sealedPlace = 'console sign-in'

const Begun = Type.Object({
  state: Type.String(),
  nonce: Type.String(),
  verifier: Type.String(),
  returnTo: Type.String(),
  endsAt: Type.Number(),
})

interface SignInDependencies extends ConsoleDependencies {
  readonly sessions: Sessions
  /** Undefined with the mock of the identity provider. */
  readonly identity: Identity | undefined
  readonly record: RecordSession
}

/** Records an action of a person before it takes effect. */
export type RecordSession = (
  action: 'console.sign_in' | 'console.sign_out',
  userId: string,
  request: FastifyRequest,
) => Promise<void>

/** How a session begins: at Keycloak, or in development with the form. */
export function signInRoutes(app: FastifyInstance, deps: SignInDependencies): void {
  const { configuration, identity, sessions, vault, now, isCurrent } = deps
  const { baseUrl, consolePassword } = configuration
  const open = { config: { access: 'public' }, schema: { hide: true } } as const
  const form = { config: { access: 'public', form: true }, schema: { hide: true } } as const

  const sealKey = async () => createSecretKey(await vault.secret('console-sign-in', 'current'))

  async function sealedCookie(checks: SignInChecks, returnTo: string): Promise<string> {
    const begun = { ...checks, returnTo, endsAt: now().getTime() + lifeSeconds * 1000 }
    const sealed = sealBytes(await sealKey(), sealedPlace, Buffer.from(JSON.stringify(begun)))
    return cookieText(cookieName, sealed.toString('base64url'), { sameSite: 'Lax', maxAgeSeconds: lifeSeconds })
  }

  /** What this browser has begun. Undefined without it, or if it is too old or not ours. */
  async function begunIn(request: FastifyRequest) {
    try {
      const sealed = Buffer.from(cookieOf(request, cookieName) ?? '', 'base64url')
      const begun: unknown = JSON.parse(openBytes(await sealKey(), sealedPlace, sealed).toString('utf8'))
      return Check(Begun, begun) && begun.endsAt > now().getTime() ? begun : undefined
    } catch {
      return undefined
    }
  }

  /** The read model must contain a right that was taken away before. */
  async function operator(known: Parameters<typeof operatorOf>[1]): Promise<Person | undefined> {
    if (!(await isCurrent(usersProjector.name))) throw problem('read-model-behind', { retryAfterSeconds: 1 })
    return operatorOf(deps, known)
  }

  async function begin(request: FastifyRequest, { userId, orgId }: Person, idToken?: string): Promise<string> {
    await deps.record('console.sign_in', userId, request)
    return sessions.start({ userId, orgId, former: sessions.former(request), idToken })
  }

  app.get('/console/sign-in', open, async (request, reply) => {
    const returnTo = returnPath(memberIn(request.query, 'return_to'), baseUrl)
    if (identity === undefined) {
      if (consolePassword === undefined) return sendPage(reply, 404, messagePage(languageOf(request), 'no-sign-in'))
      return reply.redirect(`/console/development-sign-in?return_to=${encodeURIComponent(returnTo)}`, 303)
    }
    return asPage(request, reply, async () => {
      const checks = identity.newChecks()
      const address = await identity.signInAddress(checks)
      return reply.header('set-cookie', await sealedCookie(checks, returnTo)).redirect(address, 303)
    })
  })

  if (identity !== undefined)
    app.get('/console/callback', open, (request, reply) =>
      asPage(request, reply, async () => {
        const begun = await begunIn(request)
        // The callback of another tab leaves the sign-in that this browser began last.
        if (begun === undefined || begun.state === memberIn(request.query, 'state'))
          reply.header('set-cookie', cookieText(cookieName, '', { sameSite: 'Lax', maxAgeSeconds: 0 }))
        const account = begun === undefined ? undefined : await identity.accountOf(new URL(request.url, baseUrl), begun)
        const isFirst =
          begun !== undefined && account !== undefined && (await sessions.takeState(begun.state, lifeSeconds))
        if (begun === undefined || account === undefined || !isFirst)
          return sendPage(reply, 403, messagePage(languageOf(request), 'failed'))
        const person = await operator({ externalId: account.externalId })
        if (person === undefined) return sendPage(reply, 403, messagePage(languageOf(request), 'denied'))
        reply.header('set-cookie', await begin(request, person, account.idToken))
        return sendPage(reply, 200, goOnPage(languageOf(request), begun.returnTo))
      }),
    )

  if (identity !== undefined || consolePassword === undefined) return
  app.get('/console/development-sign-in', open, async (request, reply) => {
    const returnTo = returnPath(memberIn(request.query, 'return_to'), baseUrl)
    return sendPage(reply, 200, formPage(languageOf(request), { returnTo, isRefused: false }))
  })
  app.post('/console/development-sign-in', form, async (request, reply) => {
    requireSameOrigin(request, new URL(baseUrl).origin)
    const returnTo = returnPath(memberIn(request.body, 'return_to'), baseUrl)
    const email = memberIn(request.body, 'email').trim()
    const isRight = areEqualSecrets(memberIn(request.body, 'password'), consolePassword)
    const userId = isMailAddress(email) ? await holderOfAddress(deps, email) : null
    if (!isRight || userId === null) {
      app.rateLimits.credentialsRefused(request)
      return sendPage(reply, 401, formPage(languageOf(request), { returnTo, isRefused: true }))
    }
    const person = await operator({ userId })
    if (person === undefined) return sendPage(reply, 403, messagePage(languageOf(request), 'denied'))
    return reply.header('set-cookie', await begin(request, person)).redirect(returnTo, 303)
  })
}

/** A browser gets a page with a sentence instead of a problem if a server is away. */
async function asPage(request: FastifyRequest, reply: FastifyReply, answer: () => Promise<FastifyReply>) {
  try {
    return await answer()
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 503) throw error
    const isProvider = error.code === 'identity-provider-unavailable'
    return sendPage(reply, 503, messagePage(languageOf(request), isProvider ? 'provider-away' : 'server-away'))
  }
}

/** A page below `/console`. Every other address counts as the first page. */
export function returnPath(given: string, baseUrl: string): string {
  const first = '/console'
  if (!given.startsWith(first) || given.length > 2_000 || !URL.canParse(given, baseUrl)) return first
  const { origin, pathname, search, hash } = new URL(given, baseUrl)
  const isPage = /^\/console(?:$|\/(?!sign-in|callback|development-sign-in|api\/))/.test(pathname)
  return isPage && origin === new URL(baseUrl).origin ? `${pathname}${search}${hash}` : first
}

function memberIn(values: unknown, name: string): string {
  const value: unknown = typeof values === 'object' && values !== null ? Reflect.get(values, name) : undefined
  return typeof value === 'string' ? value : ''
}
