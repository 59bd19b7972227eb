import { Type, type TSchema } from 'typebox'
import { channelsByDomain } from './channels.ts'

/** A member of the published form of a schema, as it is read back from JSON. */
type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

const description =
  'Facts that the platform publishes, each once and in order. Read them over HTTP by the feed, `GET /v1/events/{channel}`: pages, ' +
  'long poll or server-sent events. `event_id` recognises a repeat. Members and types are added without a new version, so ' +
  'consumers ignore unknown ones.'

/**
 * The channels as AsyncAPI 3.0, from the schemas that publish. A channel's `address` is the name of its stream, a message's
 * `name` the type of its events. Addresses of servers are left out, so that the document is the same everywhere.
 */
export function asyncApiDocument(version: string) {
  const all = [...channelsByDomain].map(([domain, { name, events }]) => ({
    domain,
    address: name,
    messages: Object.values(events).map(({ type, version: schemaVersion, schema }) => ({
      type,
      schemaVersion,
      schema,
    })),
  }))
  const ref = (path: string) => ({ $ref: `#/${path}` })
  const entries = <Value>(pairs: readonly (readonly [string, Value])[]) => Object.fromEntries(pairs)
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Clinical Assessment Platform: public events',
      version,
      description,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    channels: entries(
      all.map(({ domain, address, messages }) => [
        domain,
        {
          address,
          title: address,
          description: `Over HTTP: GET /v1/events/${domain}`,
          messages: entries(messages.map(({ type }) => [type, ref(`components/messages/${type}`)])),
        },
      ]),
    ),
    operations: entries(
      all.map(({ domain, messages }) => [
        `publish-${domain}`,
        {
          action: 'send',
          channel: ref(`channels/${domain}`),
          messages: messages.map(({ type }) => ref(`channels/${domain}/messages/${type}`)),
        },
      ]),
    ),
    components: {
      messages: entries(
        all.flatMap(({ messages }) =>
          messages.map(({ type, schemaVersion, schema }) => [
            type,
            {
              name: type,
              title: type,
              summary: `Version ${schemaVersion} of the payload`,
              contentType: 'application/json',
              payload: plain(schema),
              examples: [{ name: 'example', payload: exampleOfEvent(type, schemaVersion, schema) }],
            },
          ]),
        ),
      ),
    },
  }
}

/** A schema without the marks that TypeBox keeps beside its JSON. */
function plain(schema: TSchema): Json {
  return JSON.parse(JSON.stringify(schema)) as Json
}

const textsOf: Readonly<Record<string, string>> = {
  uuid: '018f0000-0000-7000-8000-000000000001',
  'date-time': '2026-03-01T10:00:00.000Z',
}

/** An event of a channel, with its own type. */
export function exampleOfEvent(type: string, schemaVersion: number, schema: TSchema): Json {
  return { ...Object(exampleOf(schema)), event_type: type, schema_version: schemaVersion }
}

/** A value that fits a schema of a public event. Members that may be missing are there. */
export function exampleOf(schema: TSchema): Json {
  if (Type.IsUnion(schema)) return exampleOf(schema.anyOf[0] ?? Type.Null())
  if (Type.IsLiteral(schema)) return schema.const as Json
  if (Type.IsEnum(schema)) return schema.enum[0] ?? null
  if (Type.IsArray(schema)) return [exampleOf(schema.items)]
  if (Type.IsObject(schema))
    return Object.fromEntries(Object.entries(schema.properties).map(([name, member]) => [name, exampleOf(member)]))
  if (Type.IsBoolean(schema)) return true
  if (Type.IsInteger(schema) || Type.IsNumber(schema)) return 1
  if (Type.IsNull(schema)) return null
  return textsOf[String('format' in schema ? schema.format : '')] ?? 'text'
}
