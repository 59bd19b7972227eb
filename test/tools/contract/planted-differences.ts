import { isObject, type Json, type JsonObject } from '../../../tools/contract/json.ts'

export const text = { type: 'string' }
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const json = (schema: Json) => ({ 'application/json': { schema } })
const answer = (schema: Json) => ({ description: 'ok', headers: { ETag: { schema: text } }, content: json(schema) })

/** Members beside variants, and values that are excluded. */
const parcel = {
  type: 'object',
  required: ['kind', 'to'],
  properties: { to: text, weight: { type: 'integer', maximum: 90 } },
  oneOf: [ref('Round'), ref('Square')],
  not: { anyOf: [{ required: ['radius', 'weight'] }, { properties: { to: { const: '' } } }] },
}
/** A schema of parts. */
const labelled = {
  allOf: [
    ref('Round'),
    { type: 'object', required: ['label'], properties: { label: { type: 'string', maxLength: 20 } } },
  ],
}

export const openApi: JsonObject = {
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
          parcel,
          labelled,
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
          parcel,
          labelled,
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

export const asyncApi: JsonObject = {
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
export function changed(document: JsonObject, path: string, value: Json | undefined): JsonObject {
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
export const made = 'components messages made payload'

export const breaking: readonly (readonly [what: string, path: string, value: Json | undefined, found: RegExp])[] = [
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
  [
    'a member beside variants that is required now',
    `${body} properties parcel required`,
    ['kind', 'to', 'weight'],
    /parcel \(Round\)\.weight: is required/,
  ],
  [
    'a smaller maximum beside variants',
    `${body} properties parcel properties weight maximum`,
    80,
    /\(Square\)\.weight: maximum was 90 and is 80/,
  ],
  [
    'a removed member beside variants',
    `${thing} properties parcel properties to`,
    undefined,
    /parcel \(Round\)\.to: is gone/,
  ],
  [
    'a member beside variants that may be missing',
    `${thing} properties parcel required`,
    ['kind'],
    /parcel \(Square\)\.to: may be missing/,
  ],
  [
    'variants beside members',
    `${body} properties more oneOf`,
    [ref('Round'), ref('Square')],
    /more.*: (is required|takes)|no longer takes/,
  ],
  [
    'an excluded value',
    `${body} properties parcel not anyOf 2`,
    { required: ['side'] },
    /parcel \(Round\): no longer takes what fits {"required":\["side"\]}/,
  ],
  [
    'values that are excluded now',
    `${body} properties more not`,
    { required: ['deep'] },
    /more: no longer takes what fits/,
  ],
  ['a wider exclusion', `${body} properties parcel not anyOf 0 required`, ['radius'], /no longer takes what fits/],
  [
    'an answer that is no longer excluded',
    `${thing} properties parcel not anyOf 1`,
    undefined,
    /parcel \(Round\): may fit {"properties":{"to":{"const":""}}}/,
  ],
  [
    'a narrower exclusion of an answer',
    `${thing} properties parcel not anyOf 1 properties to const`,
    'nowhere',
    /may fit/,
  ],
  [
    'a part of the body with a new required member',
    `${body} properties labelled allOf 1 required`,
    ['label', 'radius'],
    /labelled\.radius: is required/,
  ],
  [
    'a shorter text in a part of the body',
    `${body} properties labelled allOf 1 properties label maxLength`,
    10,
    /labelled\.label: maxLength was 20 and is 10/,
  ],
  [
    'a second limit in another part of the body',
    `${body} properties labelled allOf 2`,
    { properties: { label: { maxLength: 5 } } },
    /labelled\.label: maxLength was 20 and is 5/,
  ],
  ['a removed part of an answer', `${thing} properties labelled allOf 1`, undefined, /labelled\.label: is gone/],
  [
    'a part of an answer whose member may be missing',
    `${thing} properties labelled allOf 1 required`,
    [],
    /labelled\.label: may be missing/,
  ],
]

export const compatible: readonly (readonly [what: string, path: string, value: Json | undefined])[] = [
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
  ['a new member beside variants', `${body} properties parcel properties more`, text],
  ['a larger maximum beside variants', `${body} properties parcel properties weight maximum`, 99],
  [
    'a new variant beside members',
    `${body} properties parcel oneOf 2`,
    { type: 'object', properties: { kind: { const: 'flat' } } },
  ],
  ['a value that is no longer excluded', `${body} properties parcel not anyOf 0`, undefined],
  ['nothing excluded', `${body} properties parcel not`, undefined],
  ['another description of what is excluded', `${body} properties parcel not anyOf 0 description`, 'both'],
  ['an answer that is excluded now', `${thing} properties parcel not anyOf 2`, { required: ['side'] }],
  ['a removed part of the body', `${body} properties labelled allOf 1`, undefined],
  ['a longer text in a part of the body', `${body} properties labelled allOf 1 properties label maxLength`, 30],
  ['a new part of an answer', `${thing} properties labelled allOf 2`, { properties: { more: text } }],
  [
    'the parts as one schema',
    `${body} properties labelled`,
    {
      type: 'object',
      required: ['label', 'kind'],
      properties: { kind: { const: 'round' }, radius: { type: 'number' }, label: { type: 'string', maxLength: 20 } },
    },
  ],
]
