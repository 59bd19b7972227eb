import type { FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { mailAddressPattern, readMailAddress } from '../kit/mail-address.ts'

/** The parts of a JSON schema that lead to a text. */
interface Shape {
  readonly format?: string
  readonly pattern?: string
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, Shape>>
}

type Rewrite = (value: unknown) => unknown
/** The other form of the texts with this schema, if they have one. */
type FormOf = (schema: Shape) => ((text: string) => string) | undefined

const lowerCaseOfIds: FormOf = ({ format }) => (format === 'uuid' ? (id) => id.toLowerCase() : undefined)
const keptAddresses: FormOf = ({ pattern }) =>
  pattern === mailAddressPattern ? (text) => readMailAddress(text) ?? text : undefined

/** Makes a function that returns a valid value with its UUIDs in lower case. The given value stays as it is. */
export function lowerCaseIds(schema: TSchema | undefined): <Value>(value: Value) => Value {
  const rewrite = schema === undefined ? undefined : rewriteOf(schema, lowerCaseOfIds)
  // Texts stay texts and members stay members.
  return <Value>(value: Value) => (rewrite === undefined ? value : (rewrite(value) as Value))
}

/** Before validation, brings the e-mail addresses of a body into the form in which they are kept. */
export function readsAddresses(schema: TSchema | undefined): ((request: FastifyRequest) => Promise<void>)[] {
  const rewrite = schema === undefined ? undefined : rewriteOf(schema, keptAddresses)
  if (rewrite === undefined) return []
  return [
    async (request) => {
      request.body = rewrite(request.body)
    },
  ]
}

/** Undefined where the schema has no such text. */
function rewriteOf(schema: Shape, formOf: FormOf): Rewrite | undefined {
  const form = formOf(schema)
  if (form !== undefined) return (value) => (typeof value === 'string' ? form(value) : value)
  const { items, anyOf, properties } = schema
  if (items !== undefined) {
    const item = rewriteOf(items, formOf)
    return item && ((value) => (Array.isArray(value) ? value.map(item) : value))
  }
  if (anyOf !== undefined) {
    const alternatives = anyOf.map((one) => rewriteOf(one, formOf)).filter((rewrite) => rewrite !== undefined)
    if (alternatives.length === 0) return undefined
    return (value) => alternatives.reduce((rewritten, rewrite) => rewrite(rewritten), value)
  }
  const members = Object.entries(properties ?? {}).flatMap(([name, shape]) => {
    const member = rewriteOf(shape, formOf)
    return member === undefined ? [] : [{ name, member }]
  })
  if (members.length === 0) return undefined
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const rewritten: Record<string, unknown> = { ...value }
    for (const { name, member } of members) {
      if (name in rewritten) rewritten[name] = member(rewritten[name])
    }
    return rewritten
  }
}
