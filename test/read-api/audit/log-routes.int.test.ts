import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSealedLog } from '../../../contracts/audit/sealed-log.ts'
import { encodeRecord } from '../../../contracts/audit/log-record.ts'
import type { StoredBytes } from '../../../engine/store/log-frames.ts'
import type { Target, DomainEvent } from '../../../engine/store/events.ts'
import { checkProof } from '../../../platform/transparency-log/check-proof.ts'
import { checkpointRefusal, parseCheckpoint } from '../../../platform/transparency-log/checkpoint.ts'
import { withCosignatures } from '../../../platform/transparency-log/cosignature.ts'
import { cosign } from '../../../platform/transparency-log/cosignature.ts'
import { entryOf, parseEntry } from '../../../platform/transparency-log/event-entry.ts'
import { parseHashes, parseProof } from '../../../platform/transparency-log/log-proof.ts'
import { isConsistent, leafHash, rootOf } from '../../../platform/transparency-log/merkle.ts'
import { formatNote, parseVkey } from '../../../platform/transparency-log/signed-note.ts'
import { hashesOf } from '../../../platform/transparency-log/tiles.ts'
import { logRoutes } from '../../../read-api/audit/log-routes.ts'
import { consentChannelStream } from '../../../streams/channels/consent.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { newKey } from '../../app/audit/planted-log.ts'
import { client, newTokenIssuer, startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { openSealingWorld, type SealingWorld } from '../../processes/sealing/sealing-world.ts'
import { consentPublicFact } from '../../streams/channel-facts.ts'
import { userFact, userIds } from '../../streams/user-facts.ts'

let world: SealingWorld
let t: TestApplication
const issuer = newTokenIssuer()
let events: StoredBytes[]
const otherOrg = randomUUID()

async function append<State, Event extends DomainEvent>(target: Target<State, Event>, event: Event, orgId?: string) {
  const { revision } = await world.store.load(target)
  const context = {
    commandId: randomUUID(),
    correlationId: randomUUID(),
    clientId: 'test',
    ...(orgId === undefined ? {} : { orgId }),
  }
  await world.store.append(target, revision, [event], context)
}

beforeAll(async () => {
  world = await openSealingWorld()
  await world.write(200)
  const { type, data } = consentPublicFact('consent.granted', { org_id: world.orgId })
  const metadata = { commandId: randomUUID(), $correlationId: randomUUID() }
  await world.store.appendRaw(consentChannelStream.name, 'no_stream', [{ id: randomUUID(), type, data, metadata }])
  await append(users.of(userIds.user), userFact('UserCreated', {}), world.orgId)
  await world.sealAll()
  await world.write(98)
  await world.sealAll()
  events = await world.stored()
  t = await startApplication({
    issuer,
    checkReplies: true,
    services: [
      {
        prefix: 'audit',
        documentedAt: 'prefixed',
        mounts: ['prefixed'],
        routes: (app) => logRoutes(app, { sealedLog: openSealedLog(world) }),
      },
    ],
  })
})
afterAll(async () => {
  await t.app.close()
  await world.close()
})

async function get(path: string, orgId: string | null = null, scopes: readonly string[] = ['audit:read']) {
  const { access_token: token } = await issuer.issue({ ...client, clientId: randomUUID(), orgId, scopes })
  const answer = await t.app.inject({ url: `/v1/audit/log/${path}`, headers: { authorization: `Bearer ${token}` } })
  const code: unknown = answer.statusCode < 400 ? undefined : answer.json().code
  return { status: answer.statusCode, code, text: answer.body, bytes: answer.rawPayload, headers: answer.headers }
}

async function logKey() {
  const [line = ''] = (await get('key')).text.split('\n')
  return parseVkey(line)
}

describe('the sealed log over HTTP', () => {
  it('has the newest checkpoint, signed with the newest key, for whoever may audit', async () => {
    const { status, text, headers } = await get('checkpoint', world.orgId)
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'text/plain; charset=utf-8',
      'no-store',
    ])
    const checkpoint = parseCheckpoint(text)
    expect(checkpoint.size).toBe(300)
    expect(checkpointRefusal(checkpoint, [await logKey()])).toBeUndefined()
    expect(await get('checkpoint', world.orgId, ['patients:read'])).toMatchObject({
      status: 403,
      code: 'insufficient-scope',
    })
  })

  it('has the tiles of that checkpoint, which never change', async () => {
    const leaves = events.map((event) => leafHash(entryOf(event)))
    const full = await get('tile/0/000')
    expect([full.status, full.headers['content-type'], full.headers['cache-control']]).toEqual([
      200,
      'application/octet-stream',
      'private, immutable, max-age=31536000',
    ])
    expect(hashesOf(full.bytes)).toEqual(leaves.slice(0, 256))
    expect(hashesOf((await get('tile/0/001.p/44')).bytes)).toEqual(leaves.slice(256))
    expect(hashesOf((await get('tile/1/000.p/1')).bytes)).toEqual([rootOf(leaves.slice(0, 256))])
    // As an earlier checkpoint had it.
    expect(hashesOf((await get('tile/0/000.p/202', world.orgId)).bytes)).toEqual(leaves.slice(0, 202))
    for (const missing of [
      'tile/0/001',
      'tile/0/001.p/45',
      'tile/0/002.p/1',
      'tile/1/000.p/2',
      'tile/0/0',
      'tile/x/000',
      'tile/0/x001/000',
    ])
      expect(await get(missing)).toMatchObject({ status: 404, code: 'not-found' })
  })

  it('has the entries of a tile for platform clients only, because they name streams of every organisation', async () => {
    const { bytes } = await get('tile/entries/001.p/44')
    const entries: Buffer[] = []
    for (let at = 0; at < bytes.length; at += 2 + bytes.readUInt16BE(at))
      entries.push(bytes.subarray(at + 2, at + 2 + bytes.readUInt16BE(at)))
    expect(entries).toEqual(events.slice(256).map(entryOf))
    expect(await get('tile/entries/000', world.orgId)).toMatchObject({ status: 403, code: 'platform-client-required' })
    expect(await get('tile/entries/001.p/44', world.orgId)).toMatchObject({ status: 403 })
    expect(await get('tile/entries/001')).toMatchObject({ status: 404 })
  })

  it('proves each event, and the proof holds offline', async () => {
    const keys = { log: [await logKey()], witnesses: [] }
    for (const [index, event] of [...events.entries()].filter(([at]) => at % 37 === 0 || at === 299)) {
      const { status, text } = await get(`proof?event_id=${event.id.toUpperCase()}`)
      expect(status).toBe(200)
      const { id, stream, type, revision } = event
      const checked = checkProof(text, keys)
      expect(checked).toMatchObject({ entry: { id, stream, type, revision: Number(revision) }, index, size: 300 })
    }
  })

  it('proves to an organisation its own events, public ones that name it, and those of its users', async () => {
    const shown = events.filter(({ stream }, at) => at % 50 === 0 || !stream.startsWith('consent-'))
    expect(new Set(shown.map(({ stream }) => stream.split('-')[0]))).toEqual(
      new Set(['consent', 'consent.events', 'user']),
    )
    for (const { id, stream } of shown) {
      const proof = await get(`proof?event_id=${id}`, world.orgId)
      expect([stream, proof.status]).toEqual([stream, 200])
      expect(parseEntry(parseProof(proof.text).extra ?? Buffer.alloc(0)).id).toBe(id)
      for (const foreign of [
        await get(`proof?event_id=${id}`, otherOrg),
        await get(`proof?event_id=${id}&org_id=${otherOrg}`),
      ])
        expect(foreign).toMatchObject({ status: 404, code: 'not-found' })
      expect((await get(`proof?event_id=${id}&org_id=${world.orgId}`)).status).toBe(200)
    }
  })

  it('does not know other ids, and tells an event that is not sealed yet', async () => {
    expect(await get(`proof?event_id=${randomUUID()}`)).toMatchObject({ status: 404 })
    expect(await get('proof?event_id=x')).toMatchObject({ status: 400 })
    await world.write(1)
    const id = (await world.stored()).at(-1)?.id ?? ''
    expect(await get(`proof?event_id=${id}`, world.orgId)).toMatchObject({ status: 409, code: 'event-not-sealed' })
    expect(await get(`proof?event_id=${id}`, otherOrg)).toMatchObject({ status: 404 })
  })

  it('proves that the log only grew', async () => {
    const checkpoint = parseCheckpoint((await get('checkpoint')).text)
    const leaves = events.map((event) => leafHash(entryOf(event)))
    for (const from of [1, 202, 256, 299, 300]) {
      const { status, text } = await get(`consistency?from=${from}&to=300`)
      expect(status).toBe(200)
      const proof = parseHashes(text.split('\n').slice(0, -1))
      expect(isConsistent({ size: from, root: rootOf(leaves.slice(0, from)) }, checkpoint, proof)).toBe(true)
    }
    expect(await get('consistency?from=0&to=300')).toMatchObject({ status: 200, text: '' })
    expect(await get('consistency?from=3&to=301')).toMatchObject({ status: 404 })
    expect(await get('consistency?from=4&to=3')).toMatchObject({ status: 400 })
    expect(await get('consistency?from=-1&to=3')).toMatchObject({ status: 400 })
    expect(await get('consistency?from=1')).toMatchObject({ status: 400 })
  })

  it('proves by the newest checkpoint that enough witnesses signed, if it covers the event', async () => {
    const witness = newKey('w.example', 4)
    const [older] = await seals()
    const signed = parseCheckpoint(older ?? '')
    const cosigned = formatNote(
      withCosignatures(signed, [cosign(signed, witness.key, witness.privateKey, 1_800_000_000)]).note,
    )
    const kept = await world.vault.record('sealed-log')
    await world.vault.replaceRecord('sealed-log', kept, encodeRecord({ ...(await world.record()), cosigned }))
    const keys = { log: [await logKey()], witnesses: [witness.key] }
    expect(checkProof((await get(`proof?event_id=${events[10]?.id}`)).text, keys)).toMatchObject({ size: 202 })
    const later = (await get(`proof?event_id=${events[280]?.id}`)).text
    expect(checkProof(later, keys)).toEqual({ refusal: 'not-witnessed' })
    expect(checkProof(later, { ...keys, witnesses: [] })).toMatchObject({ size: 300 })
  })
})

async function seals(): Promise<string[]> {
  const notes: string[] = []
  for await (const { data } of world.store.readStream('log_seals'))
    if (typeof data === 'object' && data !== null && 'checkpoint' in data) notes.push(String(data.checkpoint))
  return notes
}

it('proves an event, although seals meanwhile replace the last block of the index', async () => {
  let left = 0
  const sealedLog = openSealedLog({
    ...world,
    objects: {
      async read(key) {
        if (key.startsWith('log/index/') && left > 0) {
          left -= 1
          await world.write(1)
          await world.sealAll()
        }
        return world.objects.read(key)
      },
    },
  })
  const event = events[290]
  if (event === undefined) throw new Error('no event')
  const keys = { log: [await logKey()], witnesses: [] }
  // Each of them opens the log before the first seal.
  left = 2
  const proof = Object(await sealedLog.proof(event.id, null))
  expect(checkProof(String(proof.text), keys)).toMatchObject({ entry: { id: event.id }, index: 290 })
  left = 2
  const [stored] = Object(await sealedLog.proofsOf([event]))
  expect(checkProof(String(stored), keys)).toMatchObject({ entry: { id: event.id }, index: 290 })
})

it('searches for a bounded number of events at a time, however many callers ask', async () => {
  let [running, most] = [0, 0]
  const sealedLog = openSealedLog({
    ...world,
    objects: {
      async read(key) {
        running += 1
        most = Math.max(most, running)
        const found = await world.objects.read(key)
        running -= 1
        return found
      },
    },
  })
  const asked = Array.from({ length: 50 }, () => sealedLog.proof(randomUUID(), null))
  expect(new Set(await Promise.all(asked))).toEqual(new Set([null]))
  // The index of this log has one block.
  expect(most).toBe(4)
})

it('has nothing before the first seal', async () => {
  const empty = await openSealingWorld()
  const sealedLog = openSealedLog(empty)
  expect([await sealedLog.checkpoint(), await sealedLog.keys(), await sealedLog.consistency(0, 0)]).toEqual([
    null,
    null,
    null,
  ])
  expect(await sealedLog.tile({ level: 0, index: 0, width: 1 })).toBeNull()
  await empty.write(1)
  const [event] = await empty.stored()
  expect(await sealedLog.proof(event?.id ?? '', null)).toBe('not-sealed')
  await empty.close()
})
