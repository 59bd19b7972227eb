import { dayOf } from '../../commands/assessments/image-key.ts'
import { namedObjects } from '../../commands/assessments/image-key.ts'
import { keysOfImage } from '../../commands/images/uploads.ts'
import { isUploadOpen } from '../../commands/images/image-decisions.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { evolved, type DomainEvent, type Target } from '../../engine/store/events.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'

interface SweepOptions {
  readonly store: Pick<EventStore, 'readStream'>
  readonly objects: Pick<ObjectStore, 'listVersions' | 'remove'>
  readonly configuration: Pick<Configuration, 'stagingTtlSeconds'>
  readonly now: () => Date
}

/** How many objects were removed, each with all its versions. */
export interface Swept {
  readonly staging: number
  readonly images: number
  readonly uploads: number
}

const dayMs = 86_400_000
/** No request lasts this long. After it, every needed image is named by an event. */
const closedAfterMs = dayMs
/** A sweep checks so many days of `images/`, whatever their size. */
const sweptDays = 3

/**
 * Makes the sweep of objects that crashes leave in the object store. Repeated or concurrent sweeps do no harm.
 *
 * - `staging/<part>-…`: bytes of requests that are read; removed past STAGING_TTL_SECONDS.
 * - `images/<yyyy-mm-dd>/<org>/<owner>/…`: removed where no event names them, on each of three closed days once.
 * - `uploads/<org>/<owner>/<image>`: removed a day after they came, unless they can still be submitted.
 *
 * A bucket with versions keeps what a request removes, behind a mark. So an object goes with all its versions and marks,
 * when each of them is so old.
 *
 * The sweep rejects with the error of the object store or the event store. Objects that it removed before stay removed.
 * If one object cannot be removed, the sweep removes the others and rejects with the first error.
 */
export function createSweep({
  store,
  objects,
  configuration,
  now,
}: SweepOptions): (signal: AbortSignal) => Promise<Swept> {
  /** A closed day receives no more objects. */
  const done = new Set<string>()
  /** Of the sweep that runs. */
  let refusals: unknown[] = []

  /** `isComplete`: nothing that is to go is left, and nothing was too young. */
  async function removeFrom(
    prefix: string,
    signal: AbortSignal,
    before: Date,
    isLeft: (key: string) => boolean | Promise<boolean>,
  ): Promise<{ readonly removed: number; readonly isComplete: boolean }> {
    let removed = 0
    let isComplete = true
    for await (const { key, versions } of objects.listVersions(prefix)) {
      if (signal.aborted) return { removed, isComplete: false }
      if (versions.some(({ modifiedAt }) => modifiedAt >= before)) {
        isComplete = false
        continue
      }
      if (!(await isLeft(key))) continue
      try {
        // Marks come last. One that goes before a version that cannot be removed would bring the object back.
        for (const { id } of versions) await objects.remove(key, id)
        removed += 1
      } catch (error) {
        isComplete = false
        refusals.push(error)
      }
    }
    return { removed, isComplete }
  }

  async function sweepDays(closedBefore: Date, signal: AbortSignal): Promise<number> {
    let removed = 0
    const days = Array.from({ length: sweptDays }, (_, index) =>
      dayOf(new Date(closedBefore.getTime() - (index + 1) * dayMs)),
    )
    for (const day of done) if (!days.includes(day)) done.delete(day)
    for (const day of days) {
      if (done.has(day)) continue
      const named = createNames(store)
      const swept = await removeFrom(`images/${day}/`, signal, closedBefore, async (key) => !(await named(key)))
      removed += swept.removed
      if (signal.aborted) break
      // A request that began before midnight may have stored or removed an object after it.
      if (swept.isComplete) done.add(day)
    }
    return removed
  }

  return async (signal) => {
    refusals = []
    const at = now()
    const stale = new Date(at.getTime() - configuration.stagingTtlSeconds * 1000)
    const closedBefore = new Date(at.getTime() - closedAfterMs)
    const staging = await removeFrom('staging/', signal, stale, () => true)
    const uploads = await removeFrom(
      'uploads/',
      signal,
      closedBefore,
      async (key) => !(await mayBeSubmitted(store, key, at)),
    )
    const images = await sweepDays(closedBefore, signal)
    if (refusals.length > 0) throw refusals[0]
    return { staging: staging.removed, images, uploads: uploads.removed }
  }
}

/** Whether an event names the image. Keys are sorted, so the events of an owner are read once. */
function createNames(store: SweepOptions['store']): (key: string) => Promise<boolean> {
  let last: { readonly owner: string; readonly keys: ReadonlySet<string> } | undefined
  return async (key) => {
    const [, , orgId = '', ownerId = ''] = key.split('/')
    const owner = `${orgId}/${ownerId}`
    if (last?.owner !== owner) last = { owner, keys: await keysNamedBy(store, tenantOfFact(orgId), ownerId) }
    return last.keys.has(key)
  }
}

/** The owner is an assessment or an image. */
async function keysNamedBy(
  store: SweepOptions['store'],
  orgId: TenantId,
  ownerId: string,
): Promise<ReadonlySet<string>> {
  const assessment = await readThrough(store, assessments.of(orgId, ownerId))
  if (assessment.status !== 'absent') return namedObjects(assessment)
  return keysOfImage(await readThrough(store, images.of(orgId, ownerId)))
}

/**
 * Does not use the cache of states: commands need it. A stream with hidden events is refused: the objects that hidden
 * events name would look unnamed, and would be removed.
 */
async function readThrough<State, Event extends DomainEvent>(
  store: SweepOptions['store'],
  { fold, stream }: Target<State, Event>,
): Promise<State> {
  let state = fold.initialState
  for await (const event of store.readStream(stream, { isWhole: true })) state = evolved(fold, state, event)
  return state
}

async function mayBeSubmitted(store: SweepOptions['store'], key: string, at: Date): Promise<boolean> {
  const [, org = '', ownerId = ''] = key.split('/')
  const orgId = tenantOfFact(org)
  const assessment = await readThrough(store, assessments.of(orgId, ownerId))
  if (assessment.status !== 'absent')
    return assessment.status === 'awaiting_images' && Date.parse(assessment.uploadsCloseAt ?? '') > at.getTime()
  const image = await readThrough(store, images.of(orgId, ownerId))
  return image.status === 'awaiting_upload' && isUploadOpen(at, image)
}
