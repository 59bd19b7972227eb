import { Type, type TSchema, type Static } from 'typebox'
import { Check } from 'typebox/schema'
import { readEventStoreAddress } from '../kit/event-store-address.ts'
import { isUuid } from '../http/formats.ts'
import { readSenderAddress } from '../kit/mail-address.ts'
import { readSmtpAddress } from './smtp-address.ts'

/** Reads one environment variable: text to value, checked by a TypeBox schema. */
export interface SettingKind<Schema extends TSchema> {
  readonly schema: Schema
  /** Completes the sentence "NAME must be …". A function may name the fault of the text, never a secret in it. */
  readonly mustBe: string | ((text: string) => string)
  readonly unit: string
  readonly read: (text: string) => unknown
}

export interface Setting<Value = unknown> {
  readonly name: string
  readonly meaning: string
  readonly mustBe: (text: string) => string
  readonly unit: string
  readonly isSecret: boolean
  /** As in docs/configuration.md; empty if the variable is unset by default. */
  readonly defaultText: string
  /** The text for an unset variable; undefined leaves the setting unset. */
  readonly initial: string | undefined
  /** Undefined if the text is no valid value. */
  readonly parse: (text: string) => { readonly value: Value } | undefined
}

interface SettingOptions {
  readonly meaning: string
  readonly isSecret?: boolean
  /** Replaces the default's text in the table if the default depends on other settings. */
  readonly shownDefault?: string
}

/** A setting that always has a value. The default is written as the text of the variable. */
export function setting<Schema extends TSchema>(
  name: string,
  kind: SettingKind<Schema>,
  defaultText: string,
  options: SettingOptions,
): Setting<Static<Schema>> {
  return describe(name, kind, defaultText, options)
}

/** A setting that may stay unset. */
export function optional<Schema extends TSchema>(
  name: string,
  kind: SettingKind<Schema>,
  options: SettingOptions,
): Setting<Static<Schema> | undefined> {
  return describe(name, kind, undefined, options)
}

function describe<Schema extends TSchema>(
  name: string,
  kind: SettingKind<Schema>,
  initial: string | undefined,
  options: SettingOptions,
) {
  return {
    name,
    meaning: options.meaning,
    mustBe: (text: string) => (typeof kind.mustBe === 'string' ? kind.mustBe : kind.mustBe(text)),
    unit: kind.unit,
    isSecret: options.isSecret ?? false,
    defaultText: options.shownDefault ?? initial ?? '',
    initial,
    parse: (text: string): { readonly value: Static<Schema> } | undefined => {
      const value = kind.read(text)
      return Check(kind.schema, value) ? { value } : undefined
    },
  }
}

export function text(options: { minLength?: number; maxLength?: number; pattern?: string } = {}, mustBe = 'a text') {
  return { schema: Type.String({ minLength: 1, ...options }), mustBe, unit: '', read: (given: string) => given }
}

export function integer(minimum: number, maximum: number, unit = '') {
  return {
    schema: Type.Integer({ minimum, maximum }),
    mustBe: `a whole number from ${minimum} to ${maximum}`,
    unit,
    read: readInteger,
  }
}

export function integers(unit = '') {
  return {
    schema: Type.Array(Type.Integer({ minimum: 0, maximum: 604_800_000 }), { minItems: 1, maxItems: 100 }),
    mustBe: 'whole numbers from 0 to 604800000, separated by commas',
    unit,
    read: (given: string) => given.split(',').map((part) => readInteger(part.trim())),
  }
}

/** A number from 0 to 1. */
export function fraction() {
  return {
    schema: Type.Number({ minimum: 0, maximum: 1 }),
    mustBe: 'a number from 0 to 1',
    unit: '',
    read: (given: string) => (/^\d(?:\.\d{1,15})?$/.test(given) ? Number(given) : Number.NaN),
  }
}

const header = /^([A-Za-z0-9!#$&'*+.^_`|~-]{1,255})=([\x21-\x2b\x2d-\x7e]{0,4096})$/

/** Headers of HTTP in the form of OpenTelemetry: `name=value` pairs with percent-encoded values. */
export function headerList() {
  return {
    schema: Type.Record(Type.String(), Type.String({ pattern: '^[\\x20-\\x7e]*$' })),
    mustBe: 'name=value pairs, separated by commas, with percent-encoded values',
    unit: '',
    read: (given: string) => {
      const pairs = given.split(',').filter((pair) => pair.trim() !== '')
      const read = pairs.map((pair) => header.exec(pair.trim()) ?? [])
      if (read.some(([, name]) => name === undefined)) return undefined
      try {
        return Object.fromEntries(
          read.map(([, name = '', value = '']) => [name.toLowerCase(), decodeURIComponent(value)]),
        )
      } catch {
        return undefined
      }
    },
  }
}

export function texts(mustBe: string, isEntry: (text: string) => boolean) {
  return {
    schema: Type.Array(Type.String(), { maxItems: 200 }),
    mustBe,
    unit: '',
    read: (given: string) => {
      const entries = given
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
      return entries.every(isEntry) ? entries : undefined
    },
  }
}

/** As browsers write it: scheme, host in lower case, and a port that is not the default one. */
export function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

/** The organisations with an option: none, all, or a list of ids in lower case. */
export function organisations() {
  return {
    schema: Type.Union([Type.Literal('all'), Type.Array(Type.String(), { maxItems: 1000 })]),
    mustBe: 'off, all, or UUIDs of organisations, separated by commas',
    unit: '',
    read: (given: string) => {
      if (given === 'all') return given
      if (given === 'off') return []
      const ids = given.split(',').map((part) => part.trim().toLowerCase())
      return ids.every(isUuid) ? ids : undefined
    },
  }
}

const foreignChannel = /^([A-Za-z0-9][A-Za-z0-9._-]{0,127})(?::([^:]+))?$/

/** `name` or `name:<orgId>`, several organisations in several entries. One name cannot have both forms. */
export function foreignChannels() {
  return {
    schema: Type.Array(
      Type.Object({ name: Type.String(), organisations: Type.Union([Type.Array(Type.String()), Type.Null()]) }),
      { maxItems: 50 },
    ),
    mustBe:
      'names of streams, each alone or with a colon and the UUID of an organisation, separated by commas; a name has one of both forms',
    unit: '',
    read: (given: string) => {
      const byName = new Map<string, string[] | null>()
      for (const entry of given.split(',').map((part) => part.trim())) {
        if (entry === '') continue
        const [, name, orgId] = foreignChannel.exec(entry) ?? []
        if (name === undefined || (orgId !== undefined && !isUuid(orgId))) return undefined
        const known = byName.get(name)
        if (known === undefined) byName.set(name, orgId === undefined ? null : [orgId.toLowerCase()])
        else if (known === null || orgId === undefined) return undefined
        else known.push(orgId.toLowerCase())
      }
      return [...byName].map(([name, organisations]) => ({ name, organisations }))
    },
  }
}

const ed25519 = Type.Object({ kty: Type.Literal('OKP'), crv: Type.Literal('Ed25519'), x: Type.String() })
const p256 = Type.Object({ kty: Type.Literal('EC'), crv: Type.Literal('P-256'), x: Type.String(), y: Type.String() })
const named = Type.Object({ kid: Type.String({ minLength: 1 }), d: Type.Optional(Type.Never()) })

/** A JSON Web Key Set of public keys, as JSON; parsed to its keys. */
export function publicKeys() {
  return {
    schema: Type.Array(Type.Intersect([Type.Union([ed25519, p256]), named]), { minItems: 1, maxItems: 20 }),
    mustBe: 'a JSON Web Key Set of 1 to 20 public keys, Ed25519 or P-256, each with a kid',
    unit: '',
    read: (given: string): unknown => {
      try {
        const set: unknown = JSON.parse(given)
        return typeof set === 'object' && set !== null && 'keys' in set ? set.keys : undefined
      } catch {
        return undefined
      }
    },
  }
}

export function oneOf<const Choices extends readonly [string, ...string[]]>(...choices: Choices) {
  return {
    schema: Type.Unsafe<Choices[number]>({ type: 'string', enum: [...choices] }),
    mustBe: `one of ${choices.join(', ')}`,
    unit: '',
    read: (given: string) => given,
  }
}

/** Some of the choices, separated by commas. `none` is the empty list, because an empty variable counts as unset. */
export function someOf<const Choices extends readonly [string, ...string[]]>(...choices: Choices) {
  return {
    schema: Type.Array(Type.Unsafe<Choices[number]>({ type: 'string', enum: [...choices] })),
    mustBe: `none, or one or more of ${choices.join(', ')}, separated by commas`,
    unit: '',
    read: (given: string) => (given === 'none' ? [] : given.split(',').map((part) => part.trim())),
  }
}

/**
 * An absolute address with one of the schemes, without user information. Its path stays as given, without a trailing
 * slash. It has no query, because paths are appended. `URL` would silently drop blanks and turn backslashes into
 * slashes.
 */
export function address(schemes: readonly string[]) {
  return {
    schema: Type.String({ minLength: 1 }),
    mustBe: `an absolute address with ${schemes.map((scheme) => `${scheme}://`).join(' or ')} without credentials, query, fragment, blanks and backslashes`,
    unit: '',
    read: (given: string) => {
      if (!/^[a-z]+:\/\/[^\s\\?#]+$/i.test(given) || !URL.canParse(given)) return undefined
      const url = new URL(given)
      if (!schemes.includes(url.protocol.slice(0, -1)) || url.username !== '' || url.password !== '') return undefined
      return given.replace(/\/+$/, '')
    },
  }
}

/** An address to which names of methods are appended. It ends with a slash, added if missing. */
export function addressOfMethods(schemes: readonly string[]) {
  const base = address(schemes)
  return { ...base, read: (given: string) => (base.read(given) === undefined ? undefined : `${base.read(given)}/`) }
}

/** A mail server (`readSmtpAddress`). */
export function smtpAddress() {
  return {
    schema: Type.String({ minLength: 1 }),
    mustBe:
      'smtp://user:password@host:port or smtps://user:password@host:port without path and query, with a user and a password or with neither',
    unit: '',
    read: (given: string) => (readSmtpAddress(given) === undefined ? undefined : given),
  }
}

/** The sender of mails (`readSenderAddress`). */
export function senderAddress() {
  return {
    schema: Type.String({ minLength: 1 }),
    mustBe: 'an e-mail address, or a name and an address in angle brackets: Name <address>',
    unit: '',
    read: (given: string) => (readSenderAddress(given) === undefined ? undefined : given),
  }
}

/** An address that pg accepts. A repeated parameter is refused: programs differ in which value they use. */
export function databaseAddress() {
  return {
    schema: Type.String({ minLength: 1 }),
    mustBe: 'an address with postgres:// or postgresql:// that names each parameter once',
    unit: '',
    read: (given: string) => {
      const [, query = ''] = /^postgres(?:ql)?:\/\/[^?]*(?:\?(.*))?$/s.exec(given) ?? [undefined]
      const names = [...new URLSearchParams(query).keys()]
      return /^postgres(?:ql)?:\/\//.test(given) && new Set(names).size === names.length ? given : undefined
    },
  }
}

/** A connection string that the official client of the event store accepts. */
export function eventStoreAddress() {
  return {
    schema: Type.String({ minLength: 1 }),
    mustBe:
      'a connection string with esdb://, kurrentdb:// or kdb://, each also with +discover, whose options the platform applies (not tlsVerifyCert=false; gossipTimeout is in seconds, at most 60)',
    unit: '',
    read: (given: string) => (readEventStoreAddress(given) === undefined ? undefined : given),
  }
}

function readInteger(given: string): number {
  return /^-?\d{1,15}$/.test(given) ? Number(given) : Number.NaN
}
