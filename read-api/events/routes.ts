import type { Readable } from 'node:stream'
import { Type } from 'typebox'
import { channelsByDomain, type ChannelPlace, type Channels } from '../../contracts/events/channels.ts'
import type { ListIdentity } from '../../platform/http/cursors.ts'
import { answers } from '../../platform/http/answers.ts'
import { applyPreference } from '../../platform/http/preferences.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { preferredSeconds } from '../../platform/http/waiting.ts'
import { eventFeedProjector } from '../../projections/events/event-feed.projector.ts'
import { configOf, requestReader, schemaOf, type ReadDependencies } from '../../engine/reads/read-route.ts'
import {
  answerWithStream,
  openStream,
  wantsStream,
  type StreamDependencies,
} from '../../engine/reads/server-sent-events.ts'
import { eventStream } from './event-stream.ts'
import { isWhole, placeAt, readPart, waitForPart, type FeedPart, type Subject } from './reader.ts'

export interface EventRouteDependencies extends Pick<ReadDependencies, 'pool' | 'cursors'>, StreamDependencies {
  readonly channels: Channels
}

const greatestLimit = 1_000
const defaultLimit = 100
const PublicEvent = Type.Object(
  {
    event_id: Type.String({ format: 'uuid', description: 'The same in every delivery of the event' }),
    event_type: Type.String(),
    occurred_at: Type.String({ format: 'date-time' }),
    schema_version: Type.Integer({ minimum: 1 }),
    causation_id: Type.Union([Type.String(), Type.Null()]),
    correlation_id: Type.Union([Type.String(), Type.Null()]),
    hop: Type.Integer({ minimum: 0 }),
  },
  {
    $id: 'PublicEvent',
    additionalProperties: true,
    description: 'The payload of the event and its envelope. `/asyncapi.json` describes the payload of each type',
  },
)

const EventPage = Type.Object(
  {
    data: Type.Array(PublicEvent),
    next_cursor: Type.String({ description: 'Continues after these events, at the end of the channel too' }),
    has_more: Type.Boolean({ description: 'More events are there now' }),
  },
  { $id: 'EventPage' },
)

const EventStream = Type.Unsafe<Readable | string>({
  type: 'string',
  description: 'Each `data` is a PublicEvent, each `id` its cursor',
})

const pageOrStream = {
  description: 'A page, or server-sent events if the caller accepts these alone',
  headers: { Vary: { type: 'string', description: 'accept' } },
  content: {
    'application/json': { schema: EventPage },
    'text/event-stream': { schema: EventStream },
  },
}

/** The public events of one channel, for services that cannot or may not reach the event store. */
export function eventRoutes(app: ServiceApp, deps: EventRouteDependencies): void {
  const { cursors } = deps
  const route = {
    path: '/:channel',
    operationId: 'readEvents',
    summary: 'The public events of a channel, in their order',
    description:
      'At least once. `event_id` recognises a repeat. `Prefer: wait=N` waits for the next event. `Accept: text/event-stream` ' +
      'answers with server-sent events: the id of each is its cursor, and `Last-Event-ID` continues behind it. A client of an ' +
      'organisation gets the events of its organisation.',
    params: { channel: Type.Enum([...channelsByDomain.keys()]) },
    query: {
      after: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 2_048,
          description: 'A `next_cursor`, or `now` for the end. Without it: from the oldest event',
        }),
      ),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          default: defaultLimit,
          description: 'More than 1,000 is taken as 1,000. A stream has no limit',
        }),
      ),
      types: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 4_000,
          description: 'Event types, separated by commas. A page for them may be empty and have more',
        }),
      ),
    },
    access: { scopes: ['events:read'], orScopeOf: 'channel' },
    tenancy: 'optional',
    servedBy: [eventFeedProjector],
    problems: ['invalid-cursor', 'cursor-lost', 'too-many-streams'],
  } as const
  const requestOf = requestReader(route)
  const response = answers({ 200: pageOrStream }, route.problems)

  app.get(
    route.path,
    { schema: { ...schemaOf(route, EventPage), response }, config: { ...configOf(route), takesWait: true } },
    async (request, reply) => {
      const { tenant, params, query } = requestOf(request)
      const { name, events } = channelOf(params.channel)
      const subject = { channel: name, tenant, types: typesOf(query.types, Object.values(events)) }
      const identity = identityOf(subject)
      const cursorOf = ({ revision, id }: ChannelPlace) => cursors.seal(identity, [String(revision), id])
      const isStream = wantsStream(request.headers.accept)
      const lastSeen = isStream ? request.headers['last-event-id'] : undefined
      const cursor = typeof lastSeen === 'string' && lastSeen !== '' ? lastSeen : query.after
      const after = await placeOf(cursor)
      const limit = Math.min(query.limit ?? defaultLimit, greatestLimit)

      reply.header('vary', 'accept')
      if (isStream) {
        const stream = openStream(request, reply, deps)
        return answerWithStream(reply, eventStream(deps, { subject, after, cursorOf, signal: stream.signal }), stream)
      }

      const page = await readPart(deps, subject, after, limit)
      const seconds = preferredSeconds(request.headers.prefer)
      if (seconds !== undefined) applyPreference(reply, `wait=${seconds}`)
      if (page.items.length > 0 || seconds === undefined) return answer(page)
      const { signal } = openStream(request, reply, deps)
      return answer(await waitForPart(deps, subject, page.reached, { limit, seconds, signal }))

      function answer({ items, reached, hasMore }: FeedPart) {
        reply.header('content-type', 'application/json; charset=utf-8')
        const data = items.map(({ payload }) => payload).join(',')
        return reply.send(`{"data":[${data}],"next_cursor":${JSON.stringify(cursorOf(reached))},"has_more":${hasMore}}`)
      }

      function opened(given: string) {
        try {
          return cursors.open(identity, given, 'endless')
        } catch (error) {
          const where = given === lastSeen ? 'Last-Event-ID' : '`after`'
          const detail = `${where} is no cursor of ${params.channel} for this organisation, or it was altered. It must be \`now\`, or a cursor as it was given.`
          throw problem('invalid-cursor', { detail, cause: error })
        }
      }

      async function placeOf(given: string | undefined): Promise<ChannelPlace> {
        if (given === undefined) return placeAt(deps, name, 'oldest')
        if (given === 'now') return placeAt(deps, name, 'newest')
        const [revision, id] = opened(given)
        const place = { revision: BigInt(revision ?? -1), id: typeof id === 'string' ? id : null }
        if (await isWhole(deps, name, place)) return place
        throw problem('cursor-lost', { extensions: { oldest_cursor: cursorOf(await placeAt(deps, name, 'oldest')) } })
      }
    },
  )
}

function channelOf(domain: string) {
  const channel = channelsByDomain.get(domain)
  if (channel === undefined) throw problem('not-found')
  return channel
}

/** @throws Problem `validation-failed` for a type that the channel does not have */
function typesOf(
  given: string | undefined,
  known: readonly { readonly type: string }[],
): readonly string[] | undefined {
  if (given === undefined) return undefined
  const types = [...new Set(given.split(',').map((type) => type.trim()))]
  const unknown = types.find((type) => !known.some((event) => event.type === type))
  if (unknown === undefined) return types
  const shown = JSON.stringify(unknown.slice(0, 80))
  throw invalidMember('/types', `names ${shown}, which is no event type of the channel`, 'unknown-event-type')
}

/** A cursor belongs to a channel and an organisation, and to nothing else. */
function identityOf({ channel, tenant }: Subject): ListIdentity {
  return { list: `feed of ${channel}`, orgId: tenant, sort: 'revision', filters: {} }
}
