import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createClient } from 'clinical-assessment-client/source'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ChannelPlace } from '../../../contracts/events/channels.ts'
import { noOrganisation, tenantOfFact } from '../../../platform/kit/tenants.ts'
import { isWhole, placeAt, readPart } from '../../../read-api/events/reader.ts'
import {
  disabled,
  type FeedWorld,
  granted,
  mostOfClient,
  openFeedWorld,
  originOfPages,
  type Published,
} from './feed-world.ts'

let feed: FeedWorld
const [orgA, orgB] = [randomUUID(), randomUUID()]

beforeAll(async () => {
  feed = await openFeedWorld()
})
afterAll(() => feed.close())

interface Page {
  readonly data: readonly { readonly event_id: string; readonly [member: string]: unknown }[]
  readonly next_cursor: string
  readonly has_more: boolean
}

const failing = (orgId: string): Published => ({
  type: 'webhook.endpoint.failing',
  data: {
    org_id: orgId,
    subscription_id: randomUUID(),
    percent: 90,
    failing_since: '2026-03-01T10:00:00.000Z',
    disable_at: '2026-03-08T10:00:00.000Z',
  },
})

async function get(path: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(`${feed.address}/v1/events/${path}`, { headers })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Page & { code?: string },
  }
}

async function pageOf(path: string, headers: Readonly<Record<string, string>>): Promise<Page> {
  const { status, body } = await get(path, headers)
  expect({ status, body }).toMatchObject({ status: 200 })
  return body
}

const idsOf = ({ data }: Page) => data.map(({ event_id }) => event_id)

describe('a page of the feed', () => {
  it('has the events of the organisation in the order of the channel, and nothing of another organisation', async () => {
    const [a1 = '', , a2 = ''] = await feed.publish('consent.events', granted(orgA), granted(orgB), granted(orgA))
    const [b2 = ''] = await feed.publish('consent.events', granted(orgB))
    await feed.caughtUp()
    const tokenA = await feed.token(orgA)

    const first = await pageOf('consent?limit=1', tokenA)
    expect(first).toMatchObject({
      data: [{ event_id: a1, event_type: 'consent.granted', org_id: orgA, hop: 0 }],
      has_more: true,
    })
    const second = await pageOf(`consent?after=${first.next_cursor}`, tokenA)
    expect(idsOf(second)).toEqual([a2])
    expect(second.has_more).toBe(false)
    expect(await pageOf(`consent?after=${second.next_cursor}`, tokenA)).toMatchObject({ data: [], has_more: false })
    expect(idsOf(await pageOf('consent', await feed.token(orgB)))).toContain(b2)
    expect(idsOf(await pageOf('consent', await feed.token(null)))).toHaveLength(4)
    expect(idsOf(await pageOf(`consent?org_id=${orgA}`, await feed.token(null)))).toEqual([a1, a2])
  })

  it('finds one event among those of others in one request, and ends at the end of the channel', async () => {
    const orgId = randomUUID()
    await feed.publish('webhook.events', ...Array.from({ length: 300 }, () => disabled(orgB)))
    const [own = ''] = await feed.publish('webhook.events', disabled(orgId))
    await feed.publish('webhook.events', ...Array.from({ length: 300 }, () => disabled(orgB)))
    await feed.caughtUp()
    const token = await feed.token(orgId)
    const page = await pageOf('webhook?limit=1000', token)
    expect(idsOf(page)).toEqual([own])
    // The cursor is behind the events of others: an operator may remove those.
    await feed.world.store.writeMetadata('webhook.events', { $tb: 601 })
    expect(await pageOf(`webhook?after=${page.next_cursor}`, token)).toMatchObject({ data: [] })
  })

  it('narrows an event of several organisations to the reader, and keeps events of none for the platform', async () => {
    const data = {
      userId: randomUUID(),
      members: ['locale'],
      changedBy: 'bootstrap',
      timestamp: '2026-03-01T10:00:00.000Z',
    }
    const [shared, none] = await feed.publish(
      'users.events',
      { type: 'users.updated', data: { ...data, organisationIds: [orgA, orgB] } },
      { type: 'users.updated', data: { ...data, organisationIds: [] } },
    )
    await feed.caughtUp()
    for (const orgId of [orgA, orgB]) {
      const page = await pageOf('users', await feed.token(orgId))
      expect(page.data).toMatchObject([{ event_id: shared, organisationIds: [orgId] }])
    }
    const whole = await pageOf('users', await feed.token(null))
    expect(whole.data).toMatchObject([{ event_id: shared, organisationIds: [orgA, orgB] }, { event_id: none }])
  })

  it('takes an organisation that has the nil UUID for none', async () => {
    const [orgId, userId] = [randomUUID(), randomUUID()]
    const own = { userId, members: ['locale'], changedBy: 'bootstrap', timestamp: '2026-03-01T10:00:00.000Z' }
    const organisationIds = [noOrganisation, orgId]
    const [shared] = await feed.publish('users.events', { type: 'users.updated', data: { ...own, organisationIds } })
    await feed.caughtUp()
    expect((await pageOf('users', await feed.token(orgId))).data).toMatchObject([{ event_id: shared }])
  })

  it('has only the asked types, and refuses a type that the channel does not have', async () => {
    const orgId = randomUUID()
    const [, wanted] = await feed.publish('webhook.events', disabled(orgId), failing(orgId))
    await feed.caughtUp()
    const token = await feed.token(orgId)
    expect(idsOf(await pageOf('webhook?types=webhook.endpoint.failing', token))).toEqual([wanted])
    expect(idsOf(await pageOf('webhook?types=webhook.endpoint.failing,webhook.endpoint.disabled', token))).toHaveLength(
      2,
    )
    const refused = await get('webhook?types=webhook.endpoint.failing,consent.granted', token)
    const detail = 'names "consent.granted", which is no event type of the channel'
    const errors = [{ pointer: '/types', detail }]
    expect(refused).toMatchObject({ status: 400, body: { code: 'validation-failed', errors } })
  })

  it('looks for rare types in steps, which lead to every event once', async () => {
    const [orgId, reader] = [randomUUID(), feed.pool]
    const given = Array.from({ length: 11 }, (_, place) => (place === 8 ? failing(orgId) : disabled(orgId)))
    const ids = await feed.publish('webhook.events', ...given)
    await feed.caughtUp()
    const subject = { channel: 'webhook.events', tenant: tenantOfFact(orgId), types: ['webhook.endpoint.failing'] }
    const found: (string | null)[][] = []
    let [place, hasMore]: [ChannelPlace, boolean] = [{ revision: -1n, id: null }, true]
    while (hasMore) {
      const part = await readPart({ pool: reader, mostLooked: 3 }, subject, place, 10)
      ;({ reached: place, hasMore } = part)
      found.push(part.items.map((item) => item.place.id))
    }
    expect(found).toEqual([[], [], [ids[8]], []])
    expect(await isWhole({ pool: reader, channels: feed.channels }, 'webhook.events', place)).toBe(true)
  })

  it('has at most 2 MiB, and the pages have every event once', async () => {
    const orgId = randomUUID()
    const large = granted(orgId)
    const events = Array.from({ length: 30 }, () => ({
      ...large,
      data: { ...large.data, consent_type_code: 'c'.repeat(100_000) },
    }))
    const ids: string[] = []
    for (const event of events) ids.push(...(await feed.publish('consent.events', event)))
    await feed.caughtUp()
    const token = await feed.token(orgId)
    const found: string[] = []
    for (let page: Page | undefined; page?.has_more !== false;) {
      page = await pageOf(`consent?limit=1000${page === undefined ? '' : `&after=${page.next_cursor}`}`, token)
      expect(JSON.stringify(page).length).toBeLessThan(2 * 1024 * 1024)
      found.push(...idsOf(page))
    }
    expect(found).toEqual(ids)
  })

  it('begins at the end for `now`', async () => {
    const orgId = randomUUID()
    const token = await feed.token(orgId)
    await feed.publish('clinical.events', {
      type: 'clinical.patient.registered',
      data: { org_id: orgId, patient_id: randomUUID(), registered_at: '2026-03-01T10:00:00.000Z' },
    })
    const { next_cursor: now } = await pageOf('clinical?after=now', token)
    const [later] = await feed.publish('clinical.events', {
      type: 'clinical.patient.corrected',
      data: { org_id: orgId, patient_id: randomUUID(), corrected_at: '2026-03-01T10:00:00.000Z' },
    })
    await feed.caughtUp()
    expect(idsOf(await pageOf(`clinical?after=${now}`, token))).toEqual([later])
  })
})

describe('a cursor of the feed', () => {
  it('is bound to its channel and its organisation, and never expires', async () => {
    const token = await feed.token(orgA)
    const { next_cursor: cursor } = await pageOf('consent', token)
    feed.world.pass(400 * 86_400)
    expect(await pageOf(`consent?after=${cursor}`, token)).toMatchObject({ data: [] })
    for (const [path, headers] of [
      [`users?after=${cursor}`, token],
      [`consent?after=${cursor}`, await feed.token(orgB)],
      [`consent?after=${cursor}`, await feed.token(null)],
      [`consent?after=${cursor.slice(0, -2)}`, token],
    ] as const)
      expect(await get(path, headers)).toMatchObject({
        status: 400,
        body: { code: 'invalid-cursor', detail: expect.stringMatching(/^`after` is no cursor of (users|consent) /) },
      })
    const headers = { ...token, accept: 'text/event-stream', 'last-event-id': 'other' }
    const { body } = await get('consent', headers)
    expect(body).toMatchObject({ code: 'invalid-cursor', detail: expect.stringMatching(/^Last-Event-ID is no cursor/) })
  })

  it('is lost once a later event was removed, and the answer names the oldest place', async () => {
    const orgId = randomUUID()
    const token = await feed.token(orgId)
    const opened = (state: string): Published => ({
      type: 'workflow.instance.started',
      data: {
        org_id: orgId,
        workflow_instance_id: randomUUID(),
        workflow_definition_id: randomUUID(),
        definition_version: 1,
        case_id: randomUUID(),
        state,
      },
    })
    const ids = await feed.publish(
      'workflow.events',
      opened('running'),
      opened('running'),
      opened('running'),
      opened('running'),
    )
    await feed.caughtUp()
    const first = await pageOf('workflow?limit=1', token)
    const second = await pageOf('workflow?limit=2', token)
    // The event of the second cursor is gone too, but no later one.
    await feed.world.store.writeMetadata('workflow.events', { $tb: 2 })
    expect(idsOf(await pageOf(`workflow?after=${second.next_cursor}`, token))).toEqual(ids.slice(2))
    const lost = await get(`workflow?after=${first.next_cursor}`, token)
    expect(lost).toMatchObject({ status: 410, body: { code: 'cursor-lost', oldest_cursor: expect.any(String) } })
    const { oldest_cursor: oldest } = lost.body as unknown as { oldest_cursor: string }
    expect(idsOf(await pageOf(`workflow?after=${oldest}`, token))).toEqual(ids.slice(2))
    expect(idsOf(await pageOf('workflow', token))).toEqual(ids.slice(2))
  })
})

describe('a channel whose events an operator has removed', () => {
  it('begins and ends behind the last of them, and loses the cursors before it', async () => {
    const orgId = randomUUID()
    const token = await feed.token(orgId)
    const sent = (): Published => ({
      type: 'notification.sent',
      data: { orgId, notificationId: randomUUID(), templateCode: 'news', channel: 'email', correlationId: null },
    })
    await feed.publish('notification.events', sent(), sent())
    await feed.caughtUp()
    const first = await pageOf('notification?limit=1', token)
    const last = await pageOf('notification', token)
    await feed.world.store.writeMetadata('notification.events', { $maxAge: 1 })
    await vi.waitUntil(async () => (await feed.channels.newest('notification.events')).id === null, { timeout: 20_000 })

    for (const path of ['notification', 'notification?after=now', `notification?after=${last.next_cursor}`])
      expect(await pageOf(path, token)).toMatchObject({ data: [], has_more: false })
    const lost = await get(`notification?after=${first.next_cursor}`, token)
    expect(lost).toMatchObject({ status: 410, body: { code: 'cursor-lost' } })
    const { oldest_cursor: oldest } = lost.body as unknown as { oldest_cursor: string }
    expect(await pageOf(`notification?after=${oldest}`, token)).toMatchObject({ data: [] })
  })
})

describe('an event that comes while the place of a reader is looked up', () => {
  const humanReview = 'human_review.events'
  const [task_id, ai_review_id, case_id, product_id] = Array.from({ length: 4 }, () => randomUUID())
  const opened: Published = {
    type: 'human_review.task.opened',
    data: { org_id: orgA, task_id, ai_review_id, case_id, product_id, assessment_id: null, status: 'open' },
  }
  const comes = async () => {
    await feed.publish(humanReview, opened)
    await feed.caughtUp()
  }
  /** The event comes once the channel has been looked at for the first time. */
  const looking = () => {
    const { channels, pool } = feed
    let hasCome = false
    const andThen = async <Found>(found: Promise<Found>): Promise<Found> => {
      const result = await found
      if (!hasCome) await comes()
      hasCome = true
      return result
    }
    return {
      pool,
      channels: {
        ...channels,
        newest: (name: string) => andThen(channels.newest(name)),
        check: (name: string, place: ChannelPlace) => andThen(channels.check(name, place)),
      },
    }
  }

  it('is after the beginning of a channel that was empty', async () => {
    expect(await placeAt(looking(), humanReview, 'oldest')).toEqual({ revision: -1n, id: null })
  })

  it('is not lost for a cursor behind all hidden events', async () => {
    const last = await placeAt(feed, humanReview, 'newest')
    await feed.world.store.writeMetadata(humanReview, { $tb: Number(last.revision) + 1 })
    expect(await isWhole(looking(), humanReview, last)).toBe(true)
  })
})

describe('the scopes of the feed', () => {
  it.each([
    [['events:read'], 200],
    [['events:read:consent'], 200],
    [['events:read:users'], 403],
    [['webhooks:read'], 403],
  ])('%j answers %i', async (scopes, status) => {
    expect((await get('consent', await feed.token(orgA, scopes))).status).toBe(status)
  })

  it('refuses an unknown channel and a missing token', async () => {
    const detail = expect.stringMatching(/^must be one of .*assessment, .*consent/)
    expect(await get('assessmnt', await feed.token(orgA))).toMatchObject({
      status: 404,
      body: { code: 'not-found', errors: [{ pointer: '/channel', detail }] },
    })
    expect((await get('consent', {})).status).toBe(401)
  })
})

describe('Prefer: wait', () => {
  it('answers with the next event of the caller', async () => {
    const token = await feed.token(orgA)
    const { next_cursor: cursor } = await pageOf('consent', token)
    const waiting = get(`consent?after=${cursor}`, { ...token, prefer: 'wait=20' })
    await feed.publish('consent.events', granted(orgB))
    const [own] = await feed.publish('consent.events', granted(orgA))
    const { body, headers } = await waiting
    expect(idsOf(body)).toEqual([own])
    expect(headers.get('preference-applied')).toBe('wait=20')
    expect(idsOf(await pageOf(`consent?after=${body.next_cursor}`, token))).toEqual([])
  })

  it('ends with its token', async () => {
    const orgId = randomUUID()
    const token = await feed.token(orgId, ['events:read'], { endsBy: new Date(Date.now() + 2_000) })
    const { next_cursor: cursor } = await pageOf('consent?after=now', token)
    const asked = performance.now()
    const waiting = get(`consent?after=${cursor}`, { ...token, prefer: 'wait=25' })
    await vi.waitUntil(async () => (await get('consent', token)).status === 401, { timeout: 20_000, interval: 200 })
    expect((await waiting).body).toMatchObject({ data: [], has_more: false })
    expect(performance.now() - asked).toBeLessThan(20_000)
  })

  it('answers at the end of the time without an event', async () => {
    const token = await feed.token(randomUUID())
    const { body } = await get('consent', { ...token, prefer: 'wait=1' })
    expect(body).toMatchObject({ data: [], has_more: false, next_cursor: expect.any(String) })
  })

  it('has every event once while the read model lags behind the subscription', async () => {
    const token = await feed.token(orgA)
    const { next_cursor: cursor } = await pageOf('consent', token)
    // Another waiting request has opened the subscription.
    await get('consent', { ...(await feed.token(randomUUID())), prefer: 'wait=1' })
    const resume = await feed.pauseProjector()
    const [first] = await feed.publish('consent.events', granted(orgA))
    const waiting = get(`consent?after=${cursor}`, { ...token, prefer: 'wait=20' })
    const [second] = await feed.publish('consent.events', granted(orgA))
    await resume()
    const { body } = await waiting
    const rest = await pageOf(`consent?after=${body.next_cursor}`, token)
    expect([...idsOf(body), ...idsOf(rest)]).toEqual([first, second])
  })
})

describe('server-sent events', () => {
  it('come with cursors as ids, after a first block without data', async () => {
    const token = await feed.token(orgA)
    const { next_cursor: cursor } = await pageOf('consent', token)
    const stream = await openStream(`consent?after=${cursor}`, token)
    expect(await stream.next()).toMatchObject({ data: undefined, id: expect.any(String) })
    const [first] = await feed.publish('consent.events', granted(orgA))
    const block = await stream.next()
    expect(JSON.parse(block.data ?? '')).toMatchObject({ event_id: first, org_id: orgA })
    await stream.close()

    const [second] = await feed.publish('consent.events', granted(orgA))
    const resumed = await openStream(`consent?after=now`, { ...token, 'last-event-id': block.id ?? '' })
    await resumed.next()
    expect(JSON.parse((await resumed.next()).data ?? '')).toMatchObject({ event_id: second })
    await resumed.close()
  })

  it.each([
    ['text/event-stream', 'text/event-stream'],
    ['Text/Event-Stream;q=0.5, text/html;q=0', 'text/event-stream'],
    ['application/json;q=0, text/event-stream', 'text/event-stream'],
    ['application/json, text/event-stream', 'application/json'],
    ['text/event-stream, */*', 'application/json'],
    ['text/event-stream;q=0', 'application/json'],
    ['x-text/event-stream', 'application/json'],
    ['', 'application/json'],
  ])('are for callers that accept nothing else: %j gets %s', async (accept, type) => {
    const ending = new AbortController()
    const headers = { ...(await feed.token(orgA)), accept }
    const response = await fetch(`${feed.address}/v1/events/consent?after=now`, { headers, signal: ending.signal })
    expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`)
    expect(response.headers.get('vary')).toMatch(/\baccept\b/)
    ending.abort()
  })

  it('end with their token although the caller does not read them', async () => {
    const orgId = randomUUID()
    const large = granted(orgId)
    const data = { ...large.data, consent_type_code: 'c'.repeat(100_000) }
    for (let event = 0; event < 60; event += 1) await feed.publish('consent.events', { ...large, data })
    await feed.caughtUp()
    const token = await feed.token(orgId, ['events:read'], { endsBy: new Date(Date.now() + 2_000) })
    const { host, hostname, port } = new URL(feed.address)
    const accepted = once(feed.t.app.server, 'connection')
    const socket = connect(Number(port), hostname).pause()
    const [served] = await accepted
    const closed = once(served, 'close')
    socket.write(
      `GET /v1/events/consent HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${token.authorization}\r\naccept: text/event-stream\r\n\r\n`,
    )
    await closed
    socket.destroy()
  })

  it('may be read by a page of an allowed origin', async () => {
    const stream = await openStream('consent?after=now', { ...(await feed.token(orgA)), origin: originOfPages })
    expect(stream.headers.get('access-control-allow-origin')).toBe(originOfPages)
    await stream.close()
  })

  it('end with their token', async () => {
    const token = await feed.token(orgA, ['events:read'], { endsBy: new Date(Date.now() + 2_000) })
    const stream = await openStream('consent?after=now', token)
    await stream.next()
    await stream.ended
    expect((await get('consent', token)).status).toBe(401)
  })

  it('are read by the client, which continues behind the last event when its token has ended', async () => {
    const orgId = randomUUID()
    let issued = 0
    const token = async () => {
      issued += 1
      const endsBy = issued === 1 ? new Date(Date.now() + 2_000) : null
      const { authorization } = await feed.token(orgId, ['events:read'], { endsBy })
      return authorization.slice('Bearer '.length)
    }
    const events = createClient({ baseUrl: feed.address, token }).events('consent')
    const [first] = await feed.publish('consent.events', granted(orgId), granted(orgB))
    expect((await events.next()).value?.event.event_id).toBe(first)
    const next = events.next()
    await vi.waitUntil(() => issued === 2, { timeout: 30_000 })
    const [second] = await feed.publish('consent.events', granted(orgId))
    expect((await next).value?.event.event_id).toBe(second)
    await events.return()
  })

  it('count with waiting requests, up to a limit of the client', async () => {
    const token = await feed.token(orgA, ['events:read'], { clientId: randomUUID() })
    const { next_cursor: end } = await pageOf('consent?after=now', token)
    const streams = await Promise.all(
      Array.from({ length: mostOfClient }, () => openStream('consent?after=now', token)),
    )
    const refused = await get('consent?after=now', { ...token, accept: 'text/event-stream' })
    expect(refused).toMatchObject({ status: 429, body: { code: 'too-many-streams' } })
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(await get(`consent?after=${end}`, { ...token, prefer: 'wait=1' })).toMatchObject({ status: 429 })
    // Another client, and requests that do not wait, are free.
    await pageOf('consent?after=now', token)
    await get('consent?after=now', { ...(await feed.token(orgA)), prefer: 'wait=1' })
    for (const stream of streams) await stream.close()
    const isFree = async () => (await get(`consent?after=${end}`, { ...token, prefer: 'wait=1' })).status === 200
    await vi.waitUntil(isFree, { timeout: 20_000 })
  })

  it('leave nothing if the caller is gone before the stream begins', async () => {
    const token = await feed.token(orgA, ['events:read'], { clientId: randomUUID() })
    const { next_cursor: end } = await pageOf('consent?after=now', token)
    const { host, hostname, port } = new URL(feed.address)
    const head = `GET /v1/events/consent?after=${end} HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${token.authorization}`
    const opening = vi.spyOn(feed.streams, 'open')
    for (let gone = 1; gone <= mostOfClient; gone += 1) {
      const accepted = once(feed.t.app.server, 'connection')
      const socket = connect(Number(port), hostname)
      const [served] = await accepted
      feed.onCheck = async () => {
        socket.destroy()
        await once(served, 'close')
      }
      socket.write(`${head}\r\naccept: text/event-stream\r\n\r\n`)
      await vi.waitUntil(() => opening.mock.calls.length === gone, { timeout: 20_000 })
    }
    feed.onCheck = async () => undefined
    await (await openStream('consent?after=now', token)).close()
  })

  it('end when the process stops', async () => {
    const token = await feed.token(orgA)
    const stream = await openStream('consent?after=now', token)
    await stream.next()
    feed.streams.close()
    await stream.ended
    expect((await get('consent?after=now', { ...token, accept: 'text/event-stream' })).body.code).toBe('shutting-down')
  })
})

interface Block {
  readonly id: string | undefined
  readonly data: string | undefined
}

async function openStream(path: string, headers: Readonly<Record<string, string>>) {
  const abort = new AbortController()
  const response = await fetch(`${feed.address}/v1/events/${path}`, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal: abort.signal,
  })
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const blocks: Block[] = []
  let wake: () => void = () => undefined
  const ended = (async () => {
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      for (const part of parts) {
        const member = (name: string) =>
          part
            .split('\n')
            .find((line) => line.startsWith(`${name}: `))
            ?.slice(name.length + 2)
        if (!part.startsWith(':')) blocks.push({ id: member('id'), data: member('data') })
      }
      wake()
    }
  })().catch(() => undefined)
  return {
    headers: response.headers,
    ended,
    async next(): Promise<Block> {
      for (let block = blocks.shift(); ; block = blocks.shift()) {
        if (block !== undefined) return block
        await new Promise<void>((resolve) => (wake = resolve))
      }
    },
    async close() {
      abort.abort()
      await ended
    },
  }
}
