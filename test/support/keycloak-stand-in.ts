import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listenOnLoopback } from '../../embedded/children/loopback-server.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'

/** `cut-before` breaks the connection unheard, `cut-after` after the server did what it was asked. `hang` never answers. */
export type Fault = { readonly status: number } | 'cut-before' | 'cut-after' | 'hang' | 'not-json' | 'endless'

interface Account {
  readonly id: string
  readonly username: string
  readonly email: string
  readonly emailVerified: boolean
  readonly firstName: string
  readonly attributes: unknown
  readonly enabled: boolean
}

export interface KeycloakStandIn {
  readonly url: string
  readonly accounts: ReadonlyMap<string, Account>
  /** Method and path of each call, without the query. */
  readonly calls: readonly string[]
  readonly mails: readonly string[]
  /** The next calls whose method and path match have these faults, in turn. */
  failNext(call: RegExp, ...faults: readonly Fault[]): void
  /** The sign-in of an account at its address: returns the address to which the browser goes. */
  signIn(address: string, externalId: string, changes?: Partial<IssuedClaims>): string
  /** A realm without unmanaged attributes drops ours. */
  keepsAttributes: boolean
  /** The account that is signed in in the browser. Then the address of a sign-in sends the browser back at once. */
  signedIn: string | undefined
  close(): Promise<void>
}

/** What an ID token contains. A test changes a part of it. */
interface IssuedClaims {
  readonly iss: string
  readonly aud: string
  readonly nonce: string | null
  /** Signed with a key that the realm does not publish. */
  readonly isForged: boolean
}

export const standInSecret = 'stand-in-secret-of-thirty-two-characters'
/** Settings of a Keycloak at this address. */
export function keycloakEnv(url: string) {
  return {
    KEYCLOAK_BASE_URL: url,
    KEYCLOAK_REALM: 'clinic',
    KEYCLOAK_CLIENT_ID: 'platform',
    KEYCLOAK_CLIENT_SECRET: standInSecret,
  }
}

const realm = '/realms/clinic'
const users = `/admin${realm}/users`

type SigningKey = ReturnType<typeof newSigningKey>

function newSigningKey() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const partOf = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  return {
    publicJwk: { ...publicKey.export({ format: 'jwk' }), kid: 'realm', alg: 'RS256', use: 'sig' },
    sign(claims: object): string {
      const signed = `${partOf({ alg: 'RS256', kid: 'realm', typ: 'JWT' })}.${partOf(claims)}`
      return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`
    },
  }
}

/** Each is made at its first use and kept, because a key costs more than all else of a stand-in. */
const keys: { realm?: SigningKey; other?: SigningKey } = {}
const keyOf = (name: keyof typeof keys): SigningKey => (keys[name] ??= newSigningKey())

/** The few routes of Keycloak that the platform calls, as Keycloak answers them. */
export async function startKeycloakStandIn(): Promise<KeycloakStandIn> {
  const accounts = new Map<string, Account>()
  const calls: string[] = []
  const mails: string[] = []
  const faults: { readonly call: RegExp; readonly fault: Fault }[] = []
  let token = randomUUID()
  const standIn: Pick<KeycloakStandIn, 'keepsAttributes' | 'signedIn'> = { keepsAttributes: true, signedIn: undefined }
  const codes = new Map<string, { readonly challenge: string; readonly idToken: string }>()

  function signIn(issuer: string, address: string, externalId: string, changes: Partial<IssuedClaims> = {}): string {
    const asked = new URL(address).searchParams
    const valueOf = (name: string) => asked.get(name) ?? ''
    const seconds = Math.floor(Date.now() / 1000)
    const { isForged = false, nonce = valueOf('nonce'), ...changed } = changes
    const claims = {
      iss: issuer,
      aud: valueOf('client_id'),
      sub: externalId,
      iat: seconds,
      exp: seconds + 60,
      ...(nonce === null ? {} : { nonce }),
      ...changed,
    }
    const code = randomUUID()
    const key = keyOf(isForged ? 'other' : 'realm')
    codes.set(code, { challenge: valueOf('code_challenge'), idToken: key.sign(claims) })
    return `${valueOf('redirect_uri')}?${new URLSearchParams({ code, state: valueOf('state') }).toString()}`
  }

  function answer(
    method: string,
    url: URL,
    { authorization, host }: IncomingMessage['headers'],
    body: string,
  ): [number, unknown, string?] {
    const { pathname, searchParams } = url
    if (pathname === `${realm}/protocol/openid-connect/certs`) return [200, { keys: [keyOf('realm').publicJwk] }]
    if (pathname === `${realm}/protocol/openid-connect/auth` && standIn.signedIn !== undefined) {
      const issuer = `http://${host}${realm}`
      return [303, undefined, signIn(issuer, url.href, standIn.signedIn)]
    }
    const form = new URLSearchParams(body)
    if (form.get('grant_type') === 'authorization_code') {
      const code = codes.get(form.get('code') ?? '')
      codes.delete(form.get('code') ?? '')
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
      return code !== undefined && code.challenge === challenge && form.get('client_secret') === standInSecret
        ? [200, { access_token: randomUUID(), token_type: 'Bearer', expires_in: 300, id_token: code.idToken }]
        : [400, { error: 'invalid_grant' }]
    }
    if (pathname === `${realm}/protocol/openid-connect/token`) {
      if (new URLSearchParams(body).get('client_secret') !== standInSecret)
        return [401, { error: 'unauthorized_client' }]
      token = randomUUID()
      return [200, { access_token: token, expires_in: 300 }]
    }
    if (authorization !== `Bearer ${token}`) return [401, { error: 'HTTP 401 Unauthorized' }]
    if (pathname === users && method === 'GET') {
      const [name, value] = (searchParams.get('q') ?? '').split(':')
      const found = [...accounts.values()].filter(({ attributes }) => {
        const values = memberOf(attributes, name ?? '')
        return Array.isArray(values) && values.includes(value)
      })
      return [200, found]
    }
    if (pathname === users) return create(JSON.parse(body))
    const [id = '', action] = pathname.slice(users.length + 1).split('/')
    const account = accounts.get(id)
    if (account === undefined) return [404, { error: 'User not found' }]
    if (method === 'DELETE') accounts.delete(id)
    else if (action === 'execute-actions-email') mails.push(id)
    else if (method === 'GET') return [200, account]
    else {
      const changed = { ...account, ...JSON.parse(body), id, username: account.username }
      if ([...accounts.values()].some((one) => one.id !== id && one.email === changed.email))
        return [409, { errorMessage: 'User exists with same email' }]
      accounts.set(id, changed)
    }
    return [204, undefined]
  }

  function create(given: unknown): [number, unknown, string?] {
    const username = String(memberOf(given, 'username'))
    const email = String(memberOf(given, 'email'))
    if ([...accounts.values()].some((one) => one.username === username || one.email === email))
      return [409, { errorMessage: 'User exists with same email' }]
    const id = randomUUID()
    const attributes = standIn.keepsAttributes ? memberOf(given, 'attributes') : undefined
    const firstName = String(memberOf(given, 'firstName'))
    accounts.set(id, { id, username, email, emailVerified: false, firstName, enabled: true, attributes })
    return [201, undefined, `http://keycloak.test${users}/${id}`]
  }

  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://keycloak.test')
    const method = request.method ?? 'GET'
    const call = `${method} ${url.pathname}`
    const body = await text(request)
    calls.push(call)
    const index = faults.findIndex((one) => one.call.test(call))
    const fault = index < 0 ? undefined : faults.splice(index, 1)[0]?.fault
    if (fault === 'hang') return
    if (fault === 'cut-before') return void response.destroy()
    if (typeof fault === 'object') return void response.writeHead(fault.status, { location: '/elsewhere' }).end('{}')
    const [status, content, location] = answer(method, url, request.headers, body)
    if (fault === 'cut-after') return void response.destroy()
    if (fault === 'not-json') return void response.writeHead(200).end('<html>')
    if (fault === 'endless') return void response.writeHead(200).end(`[${' '.repeat(1024 * 1024)}]`)
    response.writeHead(status, location === undefined ? {} : { location })
    response.end(content === undefined ? undefined : JSON.stringify(content))
  }

  const server = createServer((request, response) => {
    reply(request, response).catch(() => response.destroy())
  })
  const port = await listenOnLoopback(server, 'Keycloak stand-in', 0)
  return Object.assign(standIn, {
    url: `http://127.0.0.1:${port}`,
    accounts,
    signIn: (...given: Parameters<KeycloakStandIn['signIn']>) => signIn(`http://127.0.0.1:${port}${realm}`, ...given),
    calls,
    mails,
    failNext: (call: RegExp, ...given: readonly Fault[]) => {
      faults.push(...given.map((fault) => ({ call, fault })))
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}
