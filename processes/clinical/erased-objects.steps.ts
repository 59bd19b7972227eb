import { exportPrefix } from '../audit/export-runs.ts'
import { uploadPrefix } from '../../commands/assessments/uploads.ts'
import { rawResponsePrefix } from '../ai-review/raw-response.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { openLeaseEnd } from '../../engine/commands/decision.ts'
import { categoryOf } from '../../engine/store/catalogue.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { auditExports } from '../../streams/audit-export/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { endOpenWork } from './erased-work.steps.ts'
import { erasureStep, type ErasedPatient } from './erasures.steps.ts'

/** What the object store has of one stream. */
interface StreamObjects {
  readonly prefixes: ReadonlySet<string>
  /** Until then somebody may still write an object, in milliseconds. */
  readonly writableUntilMs: number
}

const owners: readonly string[] = [assessments.category, images.category]

/** The prefixes of all objects that the events of a stream name, or that may have been written for it. */
async function objectsOf(
  stream: string,
  { erasure }: ErasedPatient,
  { store, configuration, now }: ProcessDependencies,
): Promise<StreamObjects> {
  const prefixes = new Set<string>()
  const category = categoryOf(stream)
  const { orgId, id } = parseOwnedStream(stream)
  let writableUntilMs = 0
  if (category === aiReviews.category) prefixes.add(rawResponsePrefix(orgId, id))
  if (owners.includes(category)) prefixes.add(uploadPrefix(orgId, id))
  if (![aiReviews.category, auditExports.category, ...owners].includes(category)) return { prefixes, writableUntilMs }
  const startedMs = Date.parse(erasure.startedAt ?? erasure.requestedAt)
  for await (const { data } of store.readStream(stream)) {
    const { exportId, leaseUntil, closesAt }: Readonly<Record<string, unknown>> = Object(data)
    for (const key of imageKeysIn(data)) prefixes.add(key.split('/').slice(0, 4).join('/') + '/')
    if (typeof exportId === 'string')
      prefixes.add(exportPrefix({ tenant: orgId, exportId, patientId: erasure.patientId }))
    // A provider's answer that comes while its attempt is open is stored before it is dropped.
    if (typeof leaseUntil === 'string')
      writableUntilMs = Math.max(writableUntilMs, openLeaseEnd(leaseUntil, now())?.getTime() ?? 0)
    // The last upload address was signed before the start.
    if (typeof closesAt === 'string' && Date.parse(closesAt) > startedMs)
      writableUntilMs = Math.max(writableUntilMs, startedMs + configuration.uploadUrlTtlSeconds * 1000)
  }
  return { prefixes, writableUntilMs }
}

/** The keys of images anywhere in the data of an event: `images/<day>/<organisation>/<owner>/…`. */
function imageKeysIn(value: unknown): string[] {
  if (typeof value === 'string') return /^images\/[\d-]{10}\/[\w-]+\/[\w-]+\//.test(value) ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((member) => imageKeysIn(member))
}

export const deleteObjects = erasureStep('objects_deleted', async (patient, deps) => {
  await deleteAll(patient, deps)
  return undefined
})

/** Once more, when nobody can write an object any more: what came meanwhile, and work that was opened meanwhile. */
export const deleteLateObjects = erasureStep('late_objects_deleted', async (patient, deps, todo, context) => {
  await endOpenWork(patient, deps, todo, context.now())
  const { until } = await deleteAll(patient, deps)
  return until > context.now().getTime() ? { kind: 'wait', until: new Date(until) } : undefined
})

interface Deleted {
  readonly objects: number
  /** The instant from which no more objects come, in milliseconds. */
  readonly until: number
}

export async function deleteAll(patient: ErasedPatient, deps: ProcessDependencies): Promise<Deleted> {
  let [objects, until] = [0, 0]
  for await (const stream of deps.patientStreams(patient.orgId, patient.patientId)) {
    const { prefixes, writableUntilMs } = await objectsOf(stream, patient, deps)
    until = Math.max(until, writableUntilMs)
    for (const prefix of prefixes) {
      await deps.objects.abandonParts(prefix)
      objects += await deps.objects.removeVersions(prefix)
    }
  }
  return { objects, until }
}
