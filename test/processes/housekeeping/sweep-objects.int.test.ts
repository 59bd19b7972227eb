import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dayOf, imageKey } from '../../../commands/assessments/image-key.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import type { ObjectStore } from '../../../platform/storage/object-store.ts'
import { createSweep, type Swept } from '../../../processes/housekeeping/sweep-objects.ts'
import { startSweeps, sweepSchedule } from '../../../processes/housekeeping/sweeps.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { images } from '../../../streams/image/aggregate.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { assessmentFact, hash } from '../../streams/facts.ts'
import { imageFact } from '../../streams/image-facts.ts'
import { eventually } from '../../support/eventually.ts'
import { startVersionedBucket, type VersionedBucket } from '../../support/versioned-bucket.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const open = new AbortController().signal

let world: ProcessWorld
let database: FreshDatabase
let pool: Pool
let connections = 0
/** The test's clock at the start. Each hour below must give the same results: days end in UTC, and a sweep of 1.1 days passes one end or two. */
let begun: number
let day: string
/** The object store dates objects by its own clock. This shifts those dates to the test's clock. */
let objects: Pick<ObjectStore, 'listVersions' | 'remove'>

beforeAll(async () => {
  world = await openProcessWorld()
  database = await freshDatabase()
  pool = createPool({ url: database.url })
  pool.on('acquire', () => {
    connections += 1
  })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
  await world.close()
})

function instance(stagingTtlSeconds = 3600, swept = objects) {
  const { store: whole } = world.deps
  // Only the read that bypasses the cache: a sweep of everything would replace the entries that commands need.
  const store = { readStream: whole.readStream.bind(whole) }
  let passedMs = 0
  const sweep = createSweep({
    store,
    objects: swept,
    configuration: { stagingTtlSeconds },
    now: () => new Date(begun + passedMs),
  })
  return (afterMs: number, signal = open): Promise<Swept> => {
    passedMs = afterMs
    return sweep(signal)
  }
}

async function stored(...keys: readonly string[]): Promise<void> {
  for (const key of keys) await world.deps.objects.put(key, Buffer.from('bytes'), 'image/jpeg')
}

async function left(prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of world.deps.objects.list(prefix)) keys.push(key)
  return keys.toSorted()
}

interface Declared {
  readonly assessmentId: string
  readonly imageId: string
  readonly uploadKey: string
  imageKey(part: string): string
}

function declared(): Declared {
  const [assessmentId, imageId] = [randomUUID(), randomUUID()]
  return {
    assessmentId,
    imageId,
    uploadKey: `uploads/${world.orgId}/${assessmentId}/${imageId}`,
    imageKey: (randomPart) => imageKey({ day, orgId: world.orgId, ownerId: assessmentId, imageId, randomPart }),
  }
}

/** Of an image that is its own owner. */
function ownKey({ imageId }: Declared, randomPart: string): string {
  return imageKey({ day, orgId: world.orgId, ownerId: imageId, imageId, randomPart })
}

/** An assessment of one image whose uploads are awaited until then; submitted under a key if one is given. */
async function append({ assessmentId, imageId }: Declared, closesMs: number, key?: string): Promise<void> {
  const images = [{ imageId, captureType: 'other' as const, mimeType: 'image/jpeg' }]
  const received = { imageId, object: { key: key ?? '', sha256: hash('a'), bytes: 5 }, width: null, height: null }
  const story = [
    assessmentFact('AssessmentRequested', { assessmentId, organisationId: world.orgId, mode: 'slot', images }),
    assessmentFact('AssessmentUploadsAwaited', { assessmentId, closesAt: new Date(begun + closesMs).toISOString() }),
    ...(key === undefined ? [] : [assessmentFact('AssessmentSubmitted', { assessmentId, images: [received] })]),
  ]
  await world.store.append(assessments.of(world.orgId, assessmentId), 'no_stream', story, contextOf(world))
}

describe.each([
  '2027-02-28T00:00:00.000Z',
  '2027-03-10T12:00:00.000Z',
  '2028-02-28T21:36:00.000Z',
  '2027-12-31T23:59:59.000Z',
])('from %s on', (start) => {
  beforeAll(async () => {
    begun = Date.parse(start)
    day = dayOf(new Date(begun))
    const store = world.deps.objects
    await stored('first')
    let aheadMs = Number.NaN
    for await (const { modifiedAt } of store.list('first')) aheadMs = begun - modifiedAt.getTime()
    objects = {
      remove: (key, versionId) => store.remove(key, versionId),
      async *listVersions(prefix) {
        for await (const { key, versions } of store.listVersions(prefix))
          yield {
            key,
            versions: versions.map((one) => ({ ...one, modifiedAt: new Date(one.modifiedAt.getTime() + aheadMs) })),
          }
      },
    }
  })
  afterAll(async () => {
    for (const key of await left('')) await world.deps.objects.remove(key)
  })

  it('removes the bytes of a request once they are older than any request', async () => {
    await stored('staging/part/0/0', 'staging/part/0/1', 'staging/part/1/0')
    const sweep = instance()
    expect(await sweep(0.9 * hourMs)).toEqual({ staging: 0, images: 0, uploads: 0 })
    expect(await left('staging/')).toHaveLength(3)
    expect(await sweep(1.1 * hourMs)).toEqual({ staging: 3, images: 0, uploads: 0 })
    expect(await left('staging/')).toEqual([])
    expect(await sweep(1.1 * hourMs)).toEqual({ staging: 0, images: 0, uploads: 0 })
  })

  it.each([{ $tb: 2 }, { $tb: 3 }, { $tb: Number.MAX_SAFE_INTEGER }])(
    'keeps what hidden events may name, and reports their stream: %j',
    async (hiding) => {
      const owner = declared()
      const [key, stream] = [owner.imageKey('named'), assessments.of(world.orgId, owner.assessmentId).stream]
      await append(owner, hourMs, key)
      await stored(key)
      await world.store.writeMetadata(stream, hiding)
      await expect(instance()(3 * dayMs)).rejects.toThrow(`${stream} does not show its event at revision 0`)
      expect(await left(key)).toEqual([key])
      await world.store.writeMetadata(stream, { $tb: 0 })
      expect(await instance()(3 * dayMs)).toMatchObject({ images: 0 })
      await world.deps.objects.remove(key)
    },
  )

  it('removes objects of a closed day that no event refers to, and nothing else', async () => {
    const [kept, lost] = [declared(), declared()]
    const undated = `images/${world.orgId}/${randomUUID()}/${randomUUID()}/0a`
    await append(kept, hourMs, kept.imageKey('named'))
    await stored(kept.imageKey('named'), kept.imageKey('of-a-lost-race'), lost.imageKey('of-a-crash'), undated)
    const all = await left('images/')
    for (const afterMs of [0, hourMs, dayMs]) expect(await instance()(afterMs)).toMatchObject({ images: 0 })
    expect(await left('images/')).toEqual(all)

    expect(await instance()(3 * dayMs)).toMatchObject({ images: 2 })
    expect(await left('images/')).toEqual([kept.imageKey('named'), undated].toSorted())
    // Another instance, or another start, finds nothing more.
    expect(await instance()(3 * dayMs)).toMatchObject({ images: 0 })
  })

  it('reads a closed day once, unless a stop ended the sweep early', async () => {
    const sweep = instance()
    const stopped = AbortSignal.abort()
    await stored(declared().imageKey('a'))
    expect(await sweep(3 * dayMs, stopped)).toMatchObject({ images: 0 })
    expect(await sweep(3 * dayMs)).toMatchObject({ images: 1 })
    await stored(declared().imageKey('b'))
    expect(await sweep(3 * dayMs)).toMatchObject({ images: 0 })
    expect(await instance()(3 * dayMs)).toMatchObject({ images: 1 })
    // An earlier day is not read.
    await stored(declared().imageKey('c'))
    expect(await instance()(6 * dayMs)).toMatchObject({ images: 0 })
    expect(await instance()(3 * dayMs)).toMatchObject({ images: 1 })
  })

  it('reads a day again while it has an object of a request that began before midnight', async () => {
    const { assessmentId: ownerId, imageId } = declared()
    const dayBefore = dayOf(new Date(begun - dayMs))
    await stored(imageKey({ day: dayBefore, orgId: world.orgId, ownerId, imageId, randomPart: 'late' }))
    const sweep = instance()
    expect(await sweep(dayMs - hourMs)).toMatchObject({ images: 0 })
    expect(await sweep(dayMs + hourMs)).toMatchObject({ images: 1 })
  })

  it('removes uploads of a day ago, unless they can still be submitted', async () => {
    const [awaiting, closed, submitted, unknown] = [declared(), declared(), declared(), declared()]
    await append(awaiting, 7 * dayMs)
    await append(closed, hourMs)
    await append(submitted, 7 * dayMs, submitted.imageKey('named'))
    await stored(...[awaiting, closed, submitted, unknown].map(({ uploadKey }) => uploadKey))
    expect(await instance()(0.9 * dayMs)).toMatchObject({ uploads: 0 })
    expect(await instance()(1.1 * dayMs)).toMatchObject({ uploads: 3 })
    expect(await left('uploads/')).toEqual([awaiting.uploadKey])
    expect(await instance()(8 * dayMs)).toMatchObject({ uploads: 1 })
    expect(await left('uploads/')).toEqual([])
  })

  it('keeps the objects that an image alone refers to or awaits, and no others of it', async () => {
    const [awaiting, closed, received] = [declared(), declared(), declared()]
    const declare = (image: Declared, closesMs: number) =>
      imageFact('ImageDeclared', {
        imageId: image.imageId,
        organisationId: world.orgId,
        closesAt: new Date(begun + closesMs).toISOString(),
      })
    const object = { key: ownKey(received, 'named'), sha256: hash('a'), bytes: 5 }
    for (const [image, ...story] of [
      [awaiting, declare(awaiting, 7 * dayMs)],
      [closed, declare(closed, hourMs)],
      [received, declare(received, 7 * dayMs), imageFact('ImageReceived', { imageId: received.imageId, object })],
    ] as const)
      await world.store.append(images.of(world.orgId, image.imageId), 'no_stream', story, contextOf(world))
    const uploadOf = ({ imageId }: Declared) => `uploads/${world.orgId}/${imageId}/${imageId}`
    await stored(
      ...[awaiting, closed, received].map(uploadOf),
      object.key,
      ownKey(received, 'of-a-lost-race'),
      ownKey(awaiting, 'of-a-crash'),
    )
    const afterADay = await instance()(1.1 * dayMs)
    expect(afterADay).toMatchObject({ uploads: 2 })
    expect(await left('uploads/')).toEqual([uploadOf(awaiting)])
    // Late in the evening the images' day is closed after 1.1 days already.
    const afterThree = await instance()(3 * dayMs)
    expect(afterADay.images + afterThree.images).toBe(2)
    expect(await left(`images/${day}/`)).toContain(object.key)
    expect(await instance()(8 * dayMs)).toMatchObject({ uploads: 1 })
  })

  it('removes nothing whose stream it cannot read', async () => {
    const lost = declared()
    await stored(lost.imageKey('of-a-crash'))
    const readStream = () => {
      throw new Error('the event store is away')
    }
    const sweep = createSweep({
      store: { readStream },
      objects,
      configuration: { stagingTtlSeconds: 3600 },
      now: () => new Date(begun + 3 * dayMs),
    })
    await expect(sweep(open)).rejects.toThrow('the event store is away')
    expect(await left('images/')).toContain(lost.imageKey('of-a-crash'))
    expect(await instance()(3 * dayMs)).toMatchObject({ images: 1 })
  })

  it('continues after an object that it cannot remove, logs this, and tries again', async () => {
    const { store } = world.deps
    const orphan = declared().imageKey('locked')
    const upload = declared().uploadKey
    await stored('staging/locked/0/0', 'staging/other/0/0', upload, orphan)
    let isLocked = true
    const remove: ObjectStore['remove'] = async (key, versionId) => {
      if (isLocked && key.includes('locked')) throw new Error('locked')
      await objects.remove(key, versionId)
    }
    const sweep = createSweep({
      store,
      objects: { ...objects, remove },
      configuration: { stagingTtlSeconds: 3600 },
      now: () => new Date(begun + 2 * dayMs + hourMs),
    })
    await expect(sweep(open)).rejects.toThrow('locked')
    expect(await left('staging/')).toEqual(['staging/locked/0/0'])
    expect([(await left('uploads/')).includes(upload), (await left('images/')).includes(orphan)]).toEqual([false, true])
    isLocked = false
    await sweep(open)
    expect([await left('staging/'), (await left('images/')).includes(orphan)]).toEqual([[], false])
  })
})

describe('in a bucket with versions', () => {
  let bucket: VersionedBucket
  beforeAll(async () => {
    bucket = await startVersionedBucket()
    begun = Date.parse('2027-03-10T12:00:00.000Z')
    day = dayOf(new Date(begun))
  })
  afterAll(() => bucket.close())

  /** A version or a mark from so long after the start. */
  const kept = (key: string, id: string, afterMs = 0, isMark = false) => ({
    key,
    id,
    isMark,
    modifiedAt: new Date(begun + afterMs),
  })
  /** What a request leaves that stored an object and removed it. */
  const removed = (key: string) => [kept(key, 'v1'), kept(key, 'v2', 1_000, true)]

  it('removes the versions of what requests removed, and no version of an object that an event names', async () => {
    const [owner, awaiting] = [declared(), declared()]
    await append(owner, hourMs, owner.imageKey('named'))
    await append(awaiting, 7 * dayMs)
    const named = [kept(owner.imageKey('named'), 'v1'), kept(owner.imageKey('named'), 'v2')]
    const upload = kept(awaiting.uploadKey, 'v1')
    const young = [kept('staging/young-0', 'v1'), kept('staging/young-0', 'v2', 3 * dayMs - 1_000, true)]
    bucket.versions = [
      ...removed('staging/piece-0'),
      ...removed(owner.imageKey('of-a-lost-race')),
      ...removed(declared().imageKey('of-a-refused-request')),
      ...removed(owner.uploadKey),
      ...named,
      upload,
      ...young,
    ]
    expect(await instance(3600, bucket.objects)(3 * dayMs)).toEqual({ staging: 1, images: 2, uploads: 1 })
    expect(bucket.versions).toEqual([...named, upload, ...young])
  })

  it('leaves the mark of a version that it cannot remove, and removes both later', async () => {
    const key = declared().imageKey('locked')
    bucket.versions = removed(key)
    let isLocked = true
    const remove: ObjectStore['remove'] = async (removedKey, id) => {
      if (isLocked && id === 'v1') throw new Error('locked')
      await bucket.objects.remove(removedKey, id)
    }
    const sweep = instance(3600, { ...bucket.objects, remove })
    await expect(sweep(3 * dayMs)).rejects.toThrow('locked')
    expect(bucket.versions).toEqual(removed(key))
    isLocked = false
    expect(await sweep(3 * dayMs)).toMatchObject({ images: 1 })
    expect(bucket.versions).toEqual([])
  })
})

it('sweeps at once and then by its schedule, also after a failed sweep', async () => {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } })
  let count = 0
  let others = 0
  const run = async () => {
    count += 1
    if (count === 1) throw new Error('the object store is away')
    return count === 2 ? 4 : 0
  }
  const other = async () => {
    others += 1
    return 0
  }
  const sweeps = startSweeps({
    sweeps: [
      { what: 'objects', run },
      { what: 'keys', run: other },
    ],
    schedule: '* * * * * *',
    pool,
    logger,
  })
  await eventually(() => expect(count).toBeGreaterThan(2))
  await sweeps.close()
  const ended = count
  const entries: unknown[] = lines.map((line) => JSON.parse(line))
  expect(entries).toMatchObject([
    { level: 'warn', component: 'sweeps', msg: 'objects cannot be removed yet' },
    { level: 'info', component: 'sweeps', count: 4, msg: 'objects were removed' },
  ])
  expect(count).toBe(ended)
  expect(others).toBeGreaterThanOrEqual(count - 1)
})

it.each([
  [1, '*/1 * * * * *'],
  [90, '*/45 * * * * *'],
  [300, '*/2 * * * *'],
  [3600, '*/10 * * * *'],
])('sweeps twice in a staging time of %i s, and at least every ten minutes', (stagingTtlSeconds, schedule) => {
  expect(sweepSchedule({ stagingTtlSeconds })).toBe(schedule)
})

it('sweeps in one instance, and in another one once the first has ended', async () => {
  const logger = createLogger({ level: 'info', destination: { write: () => undefined } })
  const swept: string[] = []
  const instanceOf = (name: string) =>
    startSweeps({
      sweeps: [
        {
          what: 'objects',
          run: async () => {
            swept.push(name)
            return 0
          },
        },
      ],
      schedule: '* * * * * *',
      pool,
      logger,
    })
  const first = instanceOf('first')
  await eventually(() => expect(swept.length).toBeGreaterThan(0))
  const asked = connections
  const second = instanceOf('second')
  await eventually(() => expect(connections).toBeGreaterThan(asked + 1))
  expect(new Set(swept)).toEqual(new Set(['first']))
  await first.close()
  await eventually(() => expect(swept).toContain('second'))
  await second.close()
})
