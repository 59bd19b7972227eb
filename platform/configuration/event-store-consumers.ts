import { Type } from 'typebox'

/** An account of the embedded event store for a downstream service. */
export interface EventStoreConsumer {
  readonly login: string
  readonly password: string
}

const mostConsumers = 100
const shortestPassword = 16
/** Logins with rights of their own, on real servers too. Names with `$` are those of the server's groups. */
const reservedLogins = ['admin', 'ops', 'platform']

/** `login:password` pairs, separated by commas. Both parts are percent-encoded, as in a connection string. */
export function eventStoreConsumers() {
  return {
    schema: Type.Array(Type.Object({ login: Type.String(), password: Type.String() })),
    mustBe: (given: string) => {
      const found = readConsumers(given)
      return `login:password pairs, separated by commas${typeof found === 'string' ? `; ${found}` : ''}`
    },
    unit: '',
    read: readConsumers,
  }
}

/** The accounts, or the first fault: its place and a login, but never a part that may be a password. */
function readConsumers(given: string): readonly EventStoreConsumer[] | string {
  const pairs = given
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
  if (pairs.length > mostConsumers) return `${pairs.length} pairs are more than ${mostConsumers}`
  const consumers = new Map<string, EventStoreConsumer>()
  for (const [index, pair] of pairs.entries()) {
    const place = `pair ${index + 1}`
    const parts = pair.split(':')
    // Clients read a connection string with a further colon in different ways.
    if (parts.length !== 2) return `${place} needs exactly one colon; %3A is one in a password`
    const [login, password] = parts.map(decoded)
    if (login === undefined || password === undefined) return `${place} is not percent-encoded`
    const fault = faultOf(login, password)
    if (fault !== undefined) return `${place} ${fault}`
    if (consumers.has(login)) return `${place} has the login ${login} of another pair`
    consumers.set(login, { login, password })
  }
  return [...consumers.values()]
}

function faultOf(login: string, password: string): string | undefined {
  // Clients send both in one text, with a colon between them.
  if (login === '') return 'has no login'
  if (/[:\p{Cc}]|^\s|\s$/u.test(login)) return 'has a login with a colon, a control character or a blank at its ends'
  if (login.startsWith('$') || reservedLogins.includes(login.toLowerCase()))
    return `has the login ${login}, which is reserved`
  if (/\p{Cc}/u.test(password)) return `has a password with a control character (login ${login})`
  return Array.from(password).length < shortestPassword
    ? `has a password of fewer than ${shortestPassword} characters (login ${login})`
    : undefined
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
