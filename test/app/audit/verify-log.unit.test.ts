import { expect, test } from 'vitest'
import type { FaultKind } from '../../../app/audit/fault.ts'
import type { WitnessToAsk } from '../../../app/audit/verify-log.ts'
import { isSealedStream } from '../../../contracts/audit/sealed-events.ts'
import type { StoredBytes } from '../../../engine/store/log-frames.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { cosign, withCosignatures } from '../../../platform/transparency-log/cosignature.ts'
import { formatNote } from '../../../platform/transparency-log/signed-note.ts'
import { SeededRandom } from 'embedded-eventstore/seeded-random'
import { copyOf, event, newKey, plantLog, signed, verify, type PlantedLog } from './planted-log.ts'

const log = newKey('log.example/x')
const intruder = newKey('log.example/x')
const witness = newKey('w.example', 4)
const planted = plantLog({ events: 700, every: 90, log, witness })
const keys = [log.key]
const witnesses = [{ key: witness.key, newest: undefined }]
const random = new SeededRandom(20_261_128)
const below = (limit: number): number => random.below(limit)

/** Places of sealed events in the list of all events. */
const places = planted.events.flatMap(({ stream }, at) => (isSealedStream(stream) ? [at] : []))
const placeOf = (leaf: number): number => places[leaf] ?? -1
const at = (stored: StoredBytes | undefined): string => (stored === undefined ? '' : formatPosition(stored.position))

function changed(stored: StoredBytes, member: 'dataBytes' | 'metadataBytes'): StoredBytes {
  const bytes = Buffer.from(stored[member])
  const byte = below(bytes.length)
  bytes[byte] = (bytes[byte] ?? 0) ^ (1 << below(8))
  return { ...stored, [member]: bytes }
}

interface Planted {
  readonly name: string
  readonly log: PlantedLog
  readonly kind: FaultKind
  /** The position that the fault names. */
  readonly position: string
  /** The auditor asks the witness what it signed last. */
  readonly isWitnessAsked?: true
}

/** What the witness signed last, of the log as it was. */
const witnessed: WitnessToAsk = {
  key: witness.key,
  newest: withCosignatures(planted.sealed.checkpoint, [
    cosign(planted.sealed.checkpoint, witness.key, witness.privateKey, 1_800_000_000),
  ]),
}

/** The last leaf of a tile and the first of the next one. */
const tileBorders = [255, 256, 511, 512]

/** The first times of each manipulation are at the borders of tiles, the others anywhere. */
function plantOne(what: string, time: number): Planted {
  const copy = copyOf(planted)
  const { events } = copy
  // The first events of a channel may be dropped.
  const leaf = tileBorders[time] ?? 20 + below(places.length - 23)
  const place = placeOf(leaf)
  const stored = events[place]
  const before = events[placeOf(leaf - 1)]
  if (stored === undefined || before === undefined) throw new Error('no such event')
  const named = (kind: FaultKind, position: string, changes: Partial<PlantedLog> = {}): Planted => ({
    name: `${what} at leaf ${leaf}`,
    log: { ...copy, ...changes },
    kind,
    position,
  })
  switch (what) {
    case 'a changed byte of data':
    case 'a changed byte of metadata':
      events[place] = changed(stored, what.endsWith('metadata') ? 'metadataBytes' : 'dataBytes')
      return named('changed', at(stored))
    case 'another revision':
      events[place] = { ...stored, revision: stored.revision + 1_000n }
      return named('changed', at(stored))
    case 'another stream':
      events[place] = { ...stored, stream: 'consent-other' }
      return named('changed', at(stored))
    case 'a removed event':
      events.splice(place, 1)
      return named('removed', at(before))
    case 'an added event': {
      const added = event(`consent-added-${leaf}`, 0, 0)
      const position = { commit: stored.position.commit - 50n, prepare: stored.position.prepare - 50n }
      events.splice(place, 0, { ...added, position })
      return named('added', formatPosition(position))
    }
    case 'a copied event': {
      const position = { commit: stored.position.commit + 50n, prepare: stored.position.prepare + 50n }
      events.splice(place + 1, 0, { ...stored, position })
      return named('added', formatPosition(position))
    }
    case 'a moved event': {
      const to = placeOf((leaf + 50 + below(500)) % (places.length - 1))
      const target = events[to]
      const position = {
        commit: (target?.position.commit ?? 0n) + 50n,
        prepare: (target?.position.prepare ?? 0n) + 50n,
      }
      events.splice(place, 1)
      events.splice(to < place ? to + 1 : to, 0, { ...stored, position })
      return named('moved', formatPosition(position))
    }
    case 'a cut tail':
      events.splice(place)
      return named('tail_cut', at(before))
    case 'a changed tile': {
      const [path, bytes] = random.pick([...copy.tiles].filter(([each]) => isUsed(each)))
      const byte = below(bytes.length)
      bytes[byte] = (bytes[byte] ?? 0) ^ 1
      return { ...named('changed', '*'), name: `${what}: ${path}` }
    }
    case 'a seal of another key': {
      const seal = events.findIndex(({ type }) => type === 'LogSealed')
      const forged = signed({ size: 90, root: () => planted.sealed.checkpoint.root }, intruder)
      const content = {
        size: 90,
        root: forged.root.toString('base64'),
        position: at(stored),
        checkpoint: formatNote(forged.note),
      }
      const made = event('log_seals', 0, 0, { type: 'LogSealed', content: JSON.stringify(content) })
      const position = events[seal]?.position ?? stored.position
      events[seal] = { ...made, position }
      return named('unknown_key', formatPosition(position))
    }
    case 'a newest checkpoint of another key': {
      const checkpoint = signed({ size: 700, root: () => planted.sealed.checkpoint.root }, intruder)
      const { position } = planted.sealed
      return named('unknown_key', formatPosition(position), { sealed: { checkpoint, position } })
    }
    case 'a seal that the platform did not write': {
      const seals = events.flatMap(({ type }, each) => (type === 'LogSealed' ? [each] : []))
      const chosen = random.pick(seals)
      const seal = events[chosen]
      if (seal === undefined) throw new Error('no such seal')
      events[chosen] = { ...seal, metadataBytes: Buffer.from('{}') }
      return named('forged_seal', at(seal))
    }
    case 'a log rewritten and sealed again by the holder of the key': {
      const rewritten = plantLog({ events: 700, every: 90, log, salt: what, saltedFrom: leaf })
      return {
        ...named('forged_seal', formatPosition(rewritten.sealed.position), rewritten),
        isWitnessAsked: true,
      }
    }
    case 'a log cut and sealed again by the holder of the key': {
      const shorter = plantLog({ events: leaf, every: 90, log })
      return { ...named('tail_cut', formatPosition(shorter.sealed.position), shorter), isWitnessAsked: true }
    }
    case 'a removed seal': {
      const seals = events.flatMap(({ stream }, each) => (stream === 'log_seals' ? [each] : []))
      const chosen = below(seals.length - 1)
      const next = events[seals[chosen + 1] ?? 0]
      events.splice(seals[chosen] ?? 0, 1)
      return named('removed', at(next))
    }
    default:
      throw new Error(what)
  }
}

/** Tiles that no later one replaced. */
function isUsed(path: string): boolean {
  return !path.includes('.p/') || path === 'tile/0/002.p/188' || path === 'tile/1/000.p/2'
}

const manipulations: readonly (readonly [string, number])[] = [
  ['a changed byte of data', 16],
  ['a changed byte of metadata', 8],
  ['another revision', 4],
  ['another stream', 4],
  ['a removed event', 16],
  ['an added event', 12],
  ['a copied event', 8],
  ['a moved event', 12],
  ['a cut tail', 8],
  ['a changed tile', 20],
  ['a seal of another key', 2],
  ['a removed seal', 7],
  ['a newest checkpoint of another key', 1],
  ['a seal that the platform did not write', 5],
  ['a log rewritten and sealed again by the holder of the key', 6],
  ['a log cut and sealed again by the holder of the key', 6],
]

test('finds no fault in the log as it was sealed', async () => {
  expect(await verify(planted, { keys, witnesses })).toEqual({
    size: 700,
    events: planted.events.length,
    truncated: 0,
    faults: [],
    witnesses: [{ name: 'w.example', size: 700, at: '2027-01-15T08:00:00.000Z' }],
  })
})

test.each(manipulations)('finds %s, %i times, with its kind and place', async (what, times) => {
  for (let time = 0; time < times; time += 1) {
    const { name, log: manipulated, kind, position, isWitnessAsked } = plantOne(what, time)
    const { faults } = await verify(manipulated, { keys, witnesses: isWitnessAsked ? [witnessed] : witnesses })
    const found = faults.map((fault) => ({ kind: fault.kind, position: position === '*' ? '*' : fault.position }))
    expect({ name, found }).toEqual({ name, found: [{ kind, position }] })
  }
})

test('names the removed events of several streams, and those at the end of a stream', async () => {
  const copy = copyOf(planted)
  const gone = [100, 101, 102, 300].map(placeOf)
  const lastOf = copy.events.findLastIndex(({ stream }) => stream === 'consent-3')
  const after = copy.events.slice(0, lastOf).findLast(({ stream }) => isSealedStream(stream))
  const left = copy.events.filter((_, place) => !gone.includes(place) && place !== lastOf)
  const { faults } = await verify({ ...copy, events: left }, { keys })
  expect(faults.map(({ kind }) => kind)).toEqual(Array.from({ length: 5 }, () => 'removed'))
  const streams = gone.map((place) => planted.events[place]?.stream)
  expect(faults.map(({ stream }) => stream)).toEqual(expect.arrayContaining([...streams, null]))
  expect(faults.find(({ stream }) => stream === null)?.position).toBe(at(after))
})

test('counts events that a channel dropped from its start, and none that it lost elsewhere', async () => {
  const inChannel = planted.events.filter(({ stream }) => stream === 'consent.events')
  const dropped = new Set(inChannel.slice(0, 12))
  const events = planted.events.filter((stored) => !dropped.has(stored))
  expect(await verify({ ...planted, events }, { keys })).toMatchObject({ truncated: 12, faults: [] })
  const [lost] = inChannel.slice(20)
  const { truncated, faults } = await verify(
    { ...planted, events: events.filter((stored) => stored !== lost) },
    { keys },
  )
  expect({ truncated, faults }).toMatchObject({
    truncated: 12,
    faults: [{ kind: 'removed', stream: 'consent.events' }],
  })
  // Another stream never drops any.
  const first = planted.events.find(({ stream }) => stream === 'consent-5')
  const more = await verify({ ...planted, events: events.filter((stored) => stored !== first) }, { keys })
  expect(more).toMatchObject({ truncated: 12, faults: [{ kind: 'removed', stream: 'consent-5' }] })
})

test('accepts events that no seal covers yet, and names one that nobody signed', async () => {
  const copy = copyOf(planted)
  copy.events.push(
    event('consent-new', 0, copy.events.length + 1),
    event('lab.events', 70, copy.events.length + 2, { isUnsigned: true }),
  )
  expect((await verify(copy, { keys })).faults).toEqual([])
  const forged = event('consent-new', 1, copy.events.length + 1, { isUnsigned: true })
  copy.events.push(forged)
  expect((await verify(copy, { keys })).faults).toMatchObject([
    { kind: 'unknown_key', event_id: forged.id, stream: 'consent-new', position: at(forged) },
  ])
})

test('finds events and tiles that were changed together, by the seals', async () => {
  const other = plantLog({ events: 700, every: 90, log: intruder, salt: 'other' })
  const seals = planted.events.filter(({ stream }) => stream === 'log_seals')
  const events = [...other.events.filter(({ stream }) => stream !== 'log_seals'), ...seals]
  const { faults } = await verify({ ...planted, events, tiles: other.tiles }, { keys })
  expect(faults).toMatchObject([{ kind: 'changed', event_id: null, position: at(seals[0]) }])
})

test('finds a log that the holder of the key wrote and sealed again, by the witness alone', async () => {
  const rewritten = plantLog({ events: 700, every: 90, log, salt: 'rewritten' })
  expect((await verify(rewritten, { keys })).faults).toEqual([])
  const asked = [witnessed]
  expect((await verify(planted, { keys, witnesses: asked })).faults).toEqual([])
  expect((await verify(rewritten, { keys, witnesses: asked })).faults).toMatchObject([{ kind: 'forged_seal' }])
  // A shorter one, too.
  const shorter = plantLog({ events: 600, every: 90, log })
  expect((await verify(shorter, { keys, witnesses: asked })).faults).toMatchObject([{ kind: 'tail_cut' }])
  // What the witness did not sign, or another log signed, proves nothing.
  const foreign = signed({ size: 900, root: () => planted.sealed.checkpoint.root }, intruder)
  expect((await verify(planted, { keys, witnesses: [{ key: witness.key, newest: foreign }] })).faults).toEqual([])
})

test('trusts only the key that the auditor names', async () => {
  const { faults } = await verify(planted, { keys: [intruder.key] })
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(['unknown_key']))
  expect(faults.map(({ position }) => position)).toContain(formatPosition(planted.sealed.position))
})

test('verifies the part behind an earlier seal only', async () => {
  const copy = copyOf(planted)
  const early = copy.events[placeOf(10)]
  const late = copy.events[placeOf(500)]
  if (early === undefined || late === undefined) throw new Error('no such event')
  copy.events[placeOf(10)] = changed(early, 'dataBytes')
  expect((await verify(copy, { keys, from: 270 })).faults).toEqual([])
  copy.events[placeOf(500)] = changed(late, 'dataBytes')
  expect((await verify(copy, { keys, from: 270 })).faults).toMatchObject([{ kind: 'changed', position: at(late) }])
  copy.events.splice(placeOf(500), 1)
  expect((await verify(copy, { keys, from: 270 })).faults).toMatchObject([{ kind: 'removed' }])
})

test('says so if nothing is sealed, and if everything is gone', async () => {
  const nothing = { ...planted, events: [], tiles: new Map<string, Buffer>() }
  expect((await verify({ ...planted, events: [] }, { keys })).faults).toMatchObject([
    { kind: 'tail_cut', position: null },
  ])
  expect((await verify(nothing, { keys })).faults.map(({ kind }) => kind)).toContain('changed')
})
