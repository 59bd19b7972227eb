import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { checkDistinctItems } from './distinct-items.ts'
import { documented } from './documented.ts'
import { isDate, isInstant, isUuid, isVisible } from './formats.ts'
import { visibleFormat } from './members.ts'
import { personalKeyword } from '../kit/personal-content.ts'

type JsonSchema = Record<string, unknown>

/** The schemas of one application by name, with their validators. */
export interface Schemas {
  /** Converts to the form of fastify and OpenAPI: every part with an `$id` is stored once and referenced by it. */
  hoist(schema: FastifySchema): FastifySchema
  /** Errors of an answer against its (hoisted) schema: places and rules, no values. */
  replyErrors(schema: object, payload: unknown): readonly string[]
  readonly compileValidator: FastifySchemaCompiler<TSchema>
  /** For fastify's `schemaController`: one store for all mounts. */
  readonly bucket: {
    add(schema: unknown): never
    getSchema(id: string): unknown
    getSchemas(): Record<string, unknown>
  }
}

/**
 * For a value with more members than this, only the first error is reported: a complete list may have one error per
 * member.
 */
const mostMembersListed = 1000

/**
 * Parts of an address are text and are coerced. A body is not changed. Validation neither drops nor defaults a member.
 * It stops at the first error, so `maxItems` protects the rules behind it. A second run collects all errors of a small
 * enough value.
 */
export function createSchemas(): Schemas {
  const named = new Map<string, JsonSchema>()
  // Each of about six hundred routes refers to dozens of the same objects, nested in each other.
  const referred = new WeakMap<object, unknown>()
  const replies = new WeakMap<object, ValidateFunction>()
  // About six hundred routes share a few schemas of headers, queries and ids.
  const compiled = { bodies: new Map<string, Validate>(), addresses: new Map<string, Validate>() }
  const ofBodies = {
    first: createCompiler({ allErrors: false, coerceTypes: false }, named),
    all: createCompiler({ allErrors: true, coerceTypes: false }, named),
  }
  const ofAddresses = {
    first: createCompiler({ allErrors: false, coerceTypes: true }, named),
    all: createCompiler({ allErrors: true, coerceTypes: true }, named),
  }

  return {
    hoist: (schema) => ({
      ...schema,
      ...(schema.body === undefined ? {} : { body: refer(schema.body) }),
      ...(schema.querystring === undefined ? {} : { querystring: inline(schema.querystring) }),
      ...(schema.params === undefined ? {} : { params: inline(schema.params) }),
      ...(schema.response === undefined ? {} : { response: refer(schema.response) }),
    }),
    replyErrors(schema, payload) {
      const validate = replies.get(schema) ?? ofBodies.all(schema)
      replies.set(schema, validate)
      return validate(payload)
        ? []
        : (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)
    },
    compileValidator({ schema, httpPart }) {
      // The readers of the headers check their form, each with its own problem.
      if (httpPart === 'headers') return () => true
      const [compilers, known] = httpPart === 'body' ? [ofBodies, compiled.bodies] : [ofAddresses, compiled.addresses]
      const text = JSON.stringify(schema)
      const validate = known.get(text) ?? createValidate(compilers, schema, httpPart !== 'body')
      known.set(text, validate)
      return validate
    },
    bucket: {
      add: () => {
        throw new Error('the schemas are not given here: they are collected from the routes')
      },
      getSchema: (id) => named.get(id),
      getSchemas: () => Object.fromEntries(named),
    },
  }

  function refer(schema: unknown): unknown {
    if (!isObject(schema)) return schema
    const known = referred.get(schema)
    if (known !== undefined) return known
    const reference = Array.isArray(schema) ? schema.map(refer) : referenceTo(schema)
    referred.set(schema, reference)
    return reference
  }

  function referenceTo(schema: JsonSchema): JsonSchema {
    const id = schema['$id']
    if (typeof id !== 'string') return mapValues(schema, refer)
    keep(id, schema)
    return { $ref: id }
  }

  /** OpenAPI lists parameters one by one, so their schema has no name of its own. */
  function inline(schema: unknown): unknown {
    if (!isObject(schema)) return schema
    const { $id: _id, ...rest } = schema
    return mapValues(rest, refer)
  }

  function keep(id: string, schema: JsonSchema): void {
    const plain = { $id: id, ...(inline(schema) as JsonSchema) }
    const known = named.get(id)
    if (known === undefined) named.set(id, plain)
    else if (JSON.stringify(known) !== JSON.stringify(plain)) throw new Error(`two different schemas are named ${id}`)
  }
}

type Compile = (schema: JsonSchema | TSchema) => ValidateFunction

/** Compiles schemas that refer to named ones. A part of the routes is used, so nothing is prepared before its first use. */
function createCompiler(
  options: { readonly allErrors: boolean; readonly coerceTypes: boolean },
  named: ReadonlyMap<string, JsonSchema>,
): Compile {
  let ajv: Ajv | undefined
  const added = new Set<string>()
  return (schema) => {
    ajv ??= createAjv(options)
    addNamed(ajv, schema)
    return ajv.compile(schema)
  }

  /** Adds the named schemas that this one needs, and those that they need. */
  function addNamed(to: Ajv, schema: unknown): void {
    if (!isObject(schema)) return
    for (const [keyword, value] of Object.entries(schema)) {
      const wanted = keyword === '$ref' && typeof value === 'string' ? named.get(value) : undefined
      if (wanted === undefined) addNamed(to, value)
      else if (typeof value === 'string' && !added.has(value)) {
        added.add(value)
        to.addSchema(wanted)
        addNamed(to, wanted)
      }
    }
  }
}

/** Fastify's calling convention: the errors of the last call are a member of the function. */
interface Validate {
  (value: unknown): boolean
  errors?: ErrorObject[] | null
}

function createAjv(options: { readonly allErrors: boolean; readonly coerceTypes: boolean }): Ajv {
  const ajv = new Ajv({
    ...options,
    useDefaults: false,
    removeAdditional: false,
    strict: true,
    strictTypes: false,
    allowUnionTypes: true,
    discriminator: true,
    // A test validates every schema. Each instance would compile the schema of schemas, which takes 50 ms.
    validateSchema: false,
    meta: false,
  })
  formats.default(ajv)
  ajv.addFormat('date-time', isInstant)
  ajv.addFormat('date', isDate)
  ajv.addFormat('uuid', isUuid)
  ajv.addFormat(visibleFormat, isVisible)
  checkDistinctItems(ajv)
  ajv.addVocabulary(['phi', personalKeyword, 'example', 'headers', documented])
  return ajv
}

/** Compiles at the first use: a process uses a part of its routes, and most validators never refuse anything. */
function createValidate(
  compilers: { readonly first: Compile; readonly all: Compile },
  schema: TSchema,
  inAddress: boolean,
): Validate {
  let findFirst: ValidateFunction | undefined
  let findAll: ValidateFunction | undefined
  const validate: Validate = (value) => {
    findFirst ??= compilers.first(schema)
    const unread = inAddress ? notDecimal(schema, value) : undefined
    if (unread !== undefined) {
      validate.errors = [unread]
      return false
    }
    if (findFirst(value)) return true
    if (membersOf(value, mostMembersListed) > mostMembersListed) {
      validate.errors = findFirst.errors ?? []
      return false
    }
    findAll ??= compilers.all(schema)
    findAll(value)
    validate.errors = findAll.errors ?? findFirst.errors ?? []
    return false
  }
  return validate
}

/** The error of a whole number in an address that is not written in decimal digits: coercion reads `1e2` and `0x10` too. */
function notDecimal(schema: TSchema, value: unknown): ErrorObject | undefined {
  const members = 'properties' in schema && isObject(schema.properties) ? schema.properties : {}
  const name = Object.keys(members).find((one) => {
    const member = members[one]
    const text = isObject(value) ? value[one] : undefined
    return isObject(member) && member['type'] === 'integer' && typeof text === 'string' && !/^-?\d+$/.test(text)
  })
  if (name === undefined) return undefined
  const params = { type: 'integer' }
  return { keyword: 'type', instancePath: `/${name}`, schemaPath: '', params, message: 'must be integer' }
}

/** Number of members and elements at any depth. Counting ends soon after it exceeds `most`. */
function membersOf(value: unknown, most: number): number {
  if (!isObject(value)) return 0
  const members = Object.values(value)
  let count = members.length
  for (const member of members) {
    if (count > most) return count
    count += membersOf(member, most)
  }
  return count
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null
}

function mapValues(object: JsonSchema, map: (value: unknown) => unknown): JsonSchema {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]))
}
