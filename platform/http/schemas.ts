import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { isDate, isInstant, isUuid, isVisible } from './formats.ts'
import { visibleFormat } from './patterns.ts'

type JsonSchema = Record<string, unknown>

/** The schemas of one application under their names, with the validators that know them. */
export interface Schemas {
  /** In the form that fastify and OpenAPI want: every part with an `$id` is kept once and referred to by it. */
  hoist(schema: FastifySchema): FastifySchema
  /** What is wrong with an answer by its (hoisted) schema: places and rules, no values. */
  replyErrors(schema: object, payload: unknown): readonly string[]
  readonly compileValidator: FastifySchemaCompiler<TSchema>
  /** For fastify's `schemaController`: one store for all mounts. */
  readonly bucket: { add(schema: unknown): never; getSchema(id: string): unknown; getSchemas(): Record<string, unknown> }
}

/**
 * Two validators: what stands in an address is text and is coerced, a body is taken as it is. Neither drops nor
 * defaults a member.
 */
export function createSchemas(): Schemas {
  const named = new Map<string, JsonSchema>()
  const replies = new WeakMap<object, ValidateFunction>()
  // Routes have the same few schemas of headers, queries and ids, some six hundred times over.
  const compiled = { bodies: new Map<string, ValidateFunction>(), addresses: new Map<string, ValidateFunction>() }
  const common = { allErrors: true, useDefaults: false, removeAdditional: false, strict: true, strictTypes: false, allowUnionTypes: true } as const
  const ofBodies = new Ajv({ ...common, coerceTypes: false })
  const ofAddresses = new Ajv({ ...common, coerceTypes: true })
  for (const ajv of [ofBodies, ofAddresses]) {
    formats.default(ajv)
    ajv.addFormat('date-time', isInstant)
    ajv.addFormat('date', isDate)
    ajv.addFormat('uuid', isUuid)
    ajv.addFormat(visibleFormat, isVisible)
    ajv.addVocabulary(['phi', 'example', 'headers'])
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
      const validate = replies.get(schema) ?? ofBodies.compile(schema)
      replies.set(schema, validate)
      return validate(payload) ? [] : (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)
    },
    compileValidator({ schema, httpPart }) {
      const [ajv, known] = httpPart === 'body' ? [ofBodies, compiled.bodies] : [ofAddresses, compiled.addresses]
      const text = JSON.stringify(schema)
      const validate = known.get(text) ?? ajv.compile(schema)
      known.set(text, validate)
      return validate
    },
    bucket: {
      add: () => { throw new Error('give schemas to routes: they are collected from there') },
      getSchema: (id) => named.get(id),
      getSchemas: () => Object.fromEntries(named),
    },
  }

  function refer(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(refer)
    if (!isObject(schema)) return schema
    const id = schema['$id']
    if (typeof id !== 'string') return mapValues(schema, refer)
    keep(id, schema)
    return { $ref: id }
  }

  /** Parameters are listed one by one in OpenAPI, so their schema has no name of its own. */
  function inline(schema: unknown): unknown {
    if (!isObject(schema)) return schema
    const { $id: _id, ...rest } = schema
    return mapValues(rest, refer)
  }

  function keep(id: string, schema: JsonSchema): void {
    const plain = { $id: id, ...(inline(schema) as JsonSchema) }
    const known = named.get(id)
    if (known !== undefined) {
      if (JSON.stringify(known) !== JSON.stringify(plain)) throw new Error(`two different schemas are named ${id}`)
      return
    }
    named.set(id, plain)
    ofBodies.addSchema(plain)
    ofAddresses.addSchema(plain)
  }
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null
}

function mapValues(object: JsonSchema, map: (value: unknown) => unknown): JsonSchema {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]))
}
