import { describe, expect, it } from 'vitest'
import { asyncApiDifferences, openApiDifferences } from '../../../tools/contract/differences.ts'
import { isObject, type Json, type JsonObject } from '../../../tools/contract/json.ts'

const text = { type: 'string' }
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const json = (schema: Json) => ({ 'application/json': { schema } })
const answer = (schema: Json) => ({ description: 'ok', headers: { ETag: { schema: text } }, content: json(schema) })

const openApi: JsonObject = {
  openapi: '3.1.0',
  paths: {
    '/things': {
      get: {
        operationId: 'listThings',
        security: [{ token: ['things:read'] }, { adminSecret: [] }],
        parameters: [
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 200 } },
          { name: 'status', in: 'query', schema: { type: 'string', enum: ['open', 'closed'] } },
          { name: 'X-Kind', in: 'header', schema: text },
        ],
        responses: {
          200: { ...answer(ref('Page')), content: { ...json(ref('Page')), 'text/csv': { schema: text } } },
          404: { description: 'none', content: json(ref('Problem')) },
        },
      },
      post: {
        operationId: 'createThing',
        security: [{ token: ['things:write'] }],
        requestBody: {
          content: { ...json(ref('ThingBody')), 'application/x-www-form-urlencoded': { schema: ref('ThingBody') } },
        },
        responses: { 200: answer(ref('Thing')), 201: answer(ref('Thing')) },
      },
    },
    '/things/{id}': {
      get: {
        operationId: 'getThing',
        security: [{ token: [] }],
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }],
        responses: { 200: answer(ref('Thing')) },
      },
      delete: { operationId: 'deleteThing', responses: { 204: { description: 'gone' } } },
    },
  },
  components: {
    schemas: {
      Page: {
        type: 'object',
        required: ['data', 'next_cursor'],
        properties: { data: { type: 'array', items: ref('Thing') }, next_cursor: { anyOf: [text, { type: 'null' }] } },
      },
      Thing: {
        type: 'object',
        required: ['id', 'name', 'size', 'made_at'],
        properties: {
          id: { type: 'string', format: 'uuid' },
          name: text,
          note: text,
          size: { type: 'integer' },
          made_at: { type: 'string', format: 'date-time' },
          state: { enum: ['open', 'closed'] },
          shape: { anyOf: [ref('Round'), ref('Square')] },
          parts: { type: 'array', items: ref('Thing') },
        },
      },
      ThingBody: {
        type: 'object',
        additionalProperties: false,
        required: ['name'],
        properties: {
          name: { type: 'string', minLength: 1, maxLength: 60 },
          note: { type: ['string', 'null'] },
          size: { type: 'number', minimum: 0, maximum: 100 },
          tags: { type: 'array', items: text, maxItems: 5 },
          state: { enum: ['open', 'closed'] },
          code: { type: 'string', pattern: '^[a-z]+$' },
          shape: { anyOf: [ref('Round'), ref('Square')] },
          more: { type: 'object', properties: { deep: text } },
        },
      },
      Round: {
        type: 'object',
        required: ['kind'],
        properties: { kind: { const: 'round' }, radius: { type: 'number' } },
      },
      Square: {
        type: 'object',
        required: ['kind'],
        properties: { kind: { const: 'square' }, side: { type: 'number' } },
      },
      Problem: { type: 'object', required: ['code'], properties: { code: { enum: ['a', 'b'] } } },
    },
  },
}

const asyncApi: JsonObject = {
  asyncapi: '3.0.0',
  channels: {
    things: {
      address: 'things.events',
      messages: {
        'thing.made': { $ref: '#/components/messages/made' },
        'thing.gone': { $ref: '#/components/messages/gone' },
      },
    },
    others: { address: 'others.events', messages: {} },
  },
  components: {
    messages: {
      made: {
        name: 'thing.made',
        payload: {
          type: 'object',
          required: ['event_id', 'reason'],
          properties: {
            event_id: { type: 'string', format: 'uuid' },
            reason: { enum: ['a', 'b'] },
            size: { type: 'integer' },
          },
        },
      },
      gone: { name: 'thing.gone', payload: { type: 'object', required: ['event_id'], properties: { event_id: text } } },
    },
  },
}

/** The document with another value at a path; undefined removes the member. */
function changed(document: JsonObject, path: string, value: Json | undefined): JsonObject {
  const edit = (part: Json | undefined, [name = '', ...rest]: readonly string[]): Json => {
    const next =
      rest.length === 0
        ? value
        : edit(Array.isArray(part) ? part[Number(name)] : isObject(part) ? part[name] : {}, rest)
    if (Array.isArray(part)) {
      const list = [...part]
      if (next === undefined) list.splice(Number(name), 1)
      else list[Number(name)] = next
      return list
    }
    const members = new Map(Object.entries(isObject(part) ? part : {}))
    if (next === undefined) members.delete(name)
    else members.set(name, next)
    return Object.fromEntries(members)
  }
  return edit(document, path.split(' ')) as JsonObject
}

const list = 'paths /things get'
const create = 'paths /things post'
const schemas = 'components schemas'
const body = `${schemas} ThingBody`
const thing = `${schemas} Thing`
const made = 'components messages made payload'

const breaking: readonly (readonly [what: string, path: string, value: Json | undefined, found: RegExp])[] = [
  ['a removed route', 'paths /things/{id}', undefined, /GET \/things\/\{id\}: is gone/],
  ['a removed method', 'paths /things/{id} delete', undefined, /DELETE .*: is gone/],
  ['another operationId', `${list} operationId`, 'all', /operationId was listThings and is all/],
  ['a removed parameter', `${list} parameters 0`, undefined, /query limit: is gone/],
  ['a removed header of the request', `${list} parameters 2`, undefined, /header x-kind: is gone/],
  ['a parameter that is required now', `${list} parameters 0 required`, true, /query limit: is required/],
  [
    'a new required parameter',
    `${list} parameters 3`,
    { name: 'x', in: 'query', required: true, schema: text },
    /query x: is new and required/,
  ],
  ['a smaller maximum of a parameter', `${list} parameters 0 schema maximum`, 100, /maximum was 200 and is 100/],
  ['a larger minimum of a parameter', `${list} parameters 0 schema minimum`, 2, /minimum was 1 and is 2/],
  [
    'another type of a parameter',
    `${list} parameters 2 schema`,
    { type: 'integer' },
    /the type was string and is integer/,
  ],
  ['a removed value of a parameter', `${list} parameters 1 schema enum`, ['open'], /no longer takes "closed"/],
  ['fixed values of a parameter', `${list} parameters 2 schema`, { enum: ['a'] }, /takes fixed values only/],
  ['a new scope', `${list} security 0 token`, ['things:read', 'more'], /needs more than .*things:read/],
  ['a removed way to be admitted', `${list} security 1`, undefined, /needs more than .*adminSecret/],
  [
    'a route that is no longer public',
    'paths /things/{id} delete security',
    [{ token: [] }],
    /DELETE .*: needs more than/,
  ],
  ['a body that is required now', `${create} requestBody required`, true, /body: is required/],
  [
    'a removed media type of the body',
    `${create} requestBody content application/x-www-form-urlencoded`,
    undefined,
    /urlencoded: is gone/,
  ],
  ['a removed member of a closed body', `${body} properties size`, undefined, /body size: is gone/],
  ['a member of the body that is required now', `${body} required`, ['name', 'size'], /body size: is required/],
  ['a new required member of the body', `${body} required`, ['name', 'new'], /body new: is required/],
  ['a shorter text', `${body} properties name maxLength`, 30, /maxLength was 60 and is 30/],
  ['a longer least text', `${body} properties name minLength`, 2, /minLength was 1 and is 2/],
  ['a new limit', `${body} properties note maxLength`, 9, /maxLength was absent and is 9/],
  ['fewer items', `${body} properties tags maxItems`, 2, /maxItems was 5 and is 2/],
  ['distinct items', `${body} properties tags uniqueItems`, true, /uniqueItems was absent and is true/],
  ['another pattern', `${body} properties code pattern`, '^[a-y]+$', /pattern was/],
  ['a new pattern', `${body} properties name pattern`, '^a', /pattern was absent/],
  ['a new format', `${body} properties name format`, 'uuid', /format was absent/],
  ['no null any more', `${body} properties note type`, 'string', /no longer takes null/],
  ['whole numbers only', `${body} properties size type`, 'integer', /the type was number and is integer/],
  ['a removed value of the body', `${body} properties state enum`, ['open'], /no longer takes "closed"/],
  ['a removed variant of the body', `${body} properties shape anyOf 1`, undefined, /no longer takes Square/],
  ['a closed nested object', `${body} properties more additionalProperties`, false, /takes no further members/],
  ['another type of items', `${body} properties tags items`, { type: 'integer' }, /tags\[\]: the type was string/],
  ['a removed success', `${create} responses 201`, undefined, /201: is gone/],
  ['a removed header of an answer', `${create} responses 201 headers ETag`, undefined, /header etag: is gone/],
  ['a removed media type of an answer', `${list} responses 200 content text/csv`, undefined, /text\/csv: is gone/],
  ['a removed member of an answer', `${thing} properties name`, undefined, /data\[\]\.name: is gone/],
  ['a member that may be missing', `${thing} required`, ['id', 'name', 'size'], /made_at: may be missing/],
  ['a member that may be null', `${thing} properties name`, { type: ['string', 'null'] }, /name: may be null/],
  [
    'a member that may be null by a variant',
    `${thing} properties name`,
    { anyOf: [text, { type: 'null' }] },
    /name: may be null/,
  ],
  ['another type of an answer', `${thing} properties size`, text, /size: the type was integer and is string/],
  [
    'a wider type of an answer',
    `${thing} properties size`,
    { type: 'number' },
    /size: the type was integer and is number/,
  ],
  ['another format of an answer', `${thing} properties made_at format`, 'date', /format was "date-time" and is "date"/],
  ['a text beside an object', `${thing} properties shape anyOf 2`, text, /may be string/],
  ['a removed member of a variant', `${schemas} Round properties radius`, undefined, /\(Round\)\.radius: is gone/],
]

const compatible: readonly (readonly [what: string, path: string, value: Json | undefined])[] = [
  ['a new route', 'paths /more', { get: { operationId: 'x', responses: {} } }],
  ['a new method', 'paths /things/{id} put', { operationId: 'x', responses: {} }],
  ['a new parameter', `${list} parameters 3`, { name: 'x', in: 'query', schema: text }],
  ['a larger maximum of a parameter', `${list} parameters 0 schema maximum`, 500],
  ['a parameter without maximum', `${list} parameters 0 schema maximum`, undefined],
  ['a smaller minimum of a parameter', `${list} parameters 0 schema minimum`, 0],
  ['a new value of a parameter', `${list} parameters 1 schema enum`, ['open', 'closed', 'new']],
  ['a parameter of any text', `${list} parameters 1 schema`, text],
  ['another summary', `${list} summary`, 'All things'],
  ['another description of a parameter', `${list} parameters 0 description`, 'more'],
  ['fewer scopes', `${list} security 0 token`, []],
  ['another way to be admitted', `${list} security 2`, { token: ['other'] }],
  ['a public route', `${list} security`, []],
  ['a deprecated route', `${list} deprecated`, true],
  ['a new media type of the body', `${create} requestBody content text/plain`, { schema: text }],
  ['a new member of the body', `${body} properties new`, text],
  ['a member that is no longer required', `${body} required`, []],
  ['an open body', `${body} additionalProperties`, true],
  ['a longer text', `${body} properties name maxLength`, 90],
  ['a shorter least text', `${body} properties name minLength`, 0],
  ['a text without limit', `${body} properties name maxLength`, undefined],
  ['more items', `${body} properties tags maxItems`, 9],
  ['no pattern', `${body} properties code pattern`, undefined],
  ['null too', `${body} properties name type`, ['string', 'null']],
  ['any number', `${body} properties size maximum`, undefined],
  ['a new value of the body', `${body} properties state enum`, ['open', 'closed', 'new']],
  ['any text instead of values', `${body} properties state`, text],
  ['a new variant of the body', `${body} properties shape anyOf 2`, text],
  ['a new title', `${body} properties name title`, 'Name'],
  ['a new example', `${body} properties name examples`, ['a']],
  ['a new success', `${list} responses 206`, { description: 'part' }],
  ['a new problem', `${list} responses 409`, { description: 'conflict' }],
  ['a removed problem', `${list} responses 404`, undefined],
  ['a new header of an answer', `${create} responses 201 headers Link`, { schema: text }],
  ['a new media type of an answer', `${create} responses 201 content text/csv`, { schema: text }],
  ['a new member of an answer', `${thing} properties new`, text],
  ['a member that is always there', `${thing} required`, ['id', 'name', 'size', 'made_at', 'note']],
  ['a new value of an answer', `${thing} properties state enum`, ['open', 'closed', 'new']],
  ['a removed value of an answer', `${thing} properties state enum`, ['open']],
  ['a member that is never null', `${schemas} Page properties next_cursor`, text],
  ['a smaller maximum of an answer', `${thing} properties name maxLength`, 10],
  [
    'a new variant of an answer',
    `${thing} properties shape anyOf 2`,
    { type: 'object', properties: { kind: { const: 'flat' } } },
  ],
  ['a new code of a problem', `${schemas} Problem properties code enum`, ['a', 'b', 'c']],
]

const said = (differences: readonly { readonly where: string; readonly what: string }[]) =>
  differences.map(({ where, what }) => `${where}: ${what}`)

describe('a document that did not change', () => {
  it('has no difference', () => {
    expect(openApiDifferences({ released: openApi, current: openApi })).toEqual([])
    expect(asyncApiDifferences({ released: asyncApi, current: asyncApi })).toEqual([])
  })
})

describe('a breaking difference of OpenAPI', () => {
  it.each(breaking)('%s is named', (_, path, value, found) => {
    const differences = said(openApiDifferences({ released: openApi, current: changed(openApi, path, value) }))
    expect(differences.filter((one) => found.test(one))).not.toEqual([])
  })
})

describe('a compatible difference of OpenAPI', () => {
  it.each(compatible)('%s passes', (_, path, value) => {
    const current = changed(openApi, path, value)
    expect(current).not.toEqual(openApi)
    expect(openApiDifferences({ released: openApi, current })).toEqual([])
  })
})

describe('a difference of AsyncAPI', () => {
  it.each([
    ['a removed channel', 'channels others', undefined, /channel others: is gone/],
    ['another address', 'channels things address', 'x.events', /address was things.events/],
    ['a removed event', 'channels things messages thing.gone', undefined, /thing.gone: is gone/],
    ['another name', 'components messages gone name', 'x', /has another name/],
    ['a removed member', `${made} properties size`, undefined, /size: is gone/],
    ['a member of another type', `${made} properties size`, text, /size: the type was integer/],
    ['a member that may be missing', `${made} required`, ['event_id'], /reason: may be missing/],
    ['a member that may be null', `${made} properties size`, { type: ['integer', 'null'] }, /size: may be null/],
  ] as const)('%s is named', (_, path, value, found) => {
    const current = changed(asyncApi, path, value)
    expect(said(asyncApiDifferences({ released: asyncApi, current }))).toEqual([expect.stringMatching(found)])
  })

  it.each([
    ['a new channel', 'channels more', { address: 'more.events', messages: {} }],
    ['a new event', 'channels things messages thing.moved', { $ref: '#/components/messages/gone' }],
    ['a new member', `${made} properties more`, text],
    ['a new value', `${made} properties reason enum`, ['a', 'b', 'c']],
    ['a member that is always there', `${made} required`, ['event_id', 'reason', 'size']],
  ] as const)('%s passes', (_, path, value) => {
    expect(asyncApiDifferences({ released: asyncApi, current: changed(asyncApi, path, value as Json) })).toEqual([])
  })
})
