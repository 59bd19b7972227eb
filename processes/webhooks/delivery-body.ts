import { viewOf } from '../../commands/assessments/views.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { loadSufficient } from '../../engine/commands/execute.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { AssessmentRecord, signDownloads, toAssessmentRecord } from '../../contracts/assessments/record.ts'
import { assessments, hasEnded, humanReviewAfter, type EndedAssessment } from '../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { DeliveredEventType, ShownContent } from '../../streams/webhook-delivery/events.ts'
import type { PayloadMode } from '../../streams/webhook-subscriptions/events.ts'
import { personalReaderOf } from '../../platform/http/personal-members.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

interface DeliveredEvent {
  readonly orgId: TenantId
  readonly eventId: string
  readonly eventType: DeliveredEventType
  /** Null for a test. */
  readonly assessmentId: string | null
  readonly mode: PayloadMode
}

/** The bodies of deliveries. */
export interface DeliveryBodies {
  /**
   * The record of an ended assessment, with addresses signed within the last second, and what is personal in it. A thin body contains only id and
   * status. The body of a decision also contains the task and the AI review. Its record shows this decision, even if
   * the task of a newer review has been opened since. A test has no assessment.
   */
  of(event: DeliveredEvent): Promise<DeliveryBody>
}

interface DeliveryBody {
  readonly text: string
  readonly shown: ShownContent
}

const contentOf = personalReaderOf(AssessmentRecord)

type Dependencies = Pick<CommandDependencies, 'store' | 'configuration' | 'now'> & {
  readonly vault: Pick<Vault, 'isClosed'>
  readonly objects: Pick<ObjectStore, 'presignDownload'>
}

interface Shared {
  readonly body: Promise<DeliveryBody>
  /** The instant of its signatures, or shortly before, in milliseconds. */
  readonly at: number
}

/** All subscriptions of an organisation get a delivery at once and share a body. A retry comes later than this. */
const sharedMs = 1_000

export function createDeliveryBodies(deps: Dependencies): DeliveryBodies {
  const shared = new Map<string, Shared>()

  function make(key: string, event: DeliveredEnd): Promise<DeliveryBody> {
    const one = { body: bodyOf(deps, event), at: deps.now().getTime() }
    shared.set(key, one)
    const forget = (): void => {
      if (shared.get(key) === one) shared.delete(key)
    }
    // Data of a patient is not kept longer than needed.
    one.body.then(() => void setTimeout(forget, sharedMs).unref(), forget)
    return one.body
  }

  return {
    async of({ assessmentId, ...about }) {
      if (assessmentId === null) return { text: JSON.stringify({ test: true }), shown: null }
      const event = { ...about, assessmentId }
      const key = `${event.orgId} ${assessmentId} ${event.mode} ${event.eventId}`
      const known = shared.get(key)
      const age = known === undefined ? Infinity : deps.now().getTime() - known.at
      return known !== undefined && age >= 0 && age < sharedMs ? known.body : make(key, event)
    },
  }
}

type DeliveredEnd = DeliveredEvent & { readonly assessmentId: string }

async function bodyOf(deps: Dependencies, event: DeliveredEnd): Promise<DeliveryBody> {
  const state = await endedAssessment(deps, event)
  const decision = event.eventType === 'assessment.reviewed' ? await decisionOf(deps, event) : undefined
  const view = { ...viewOf(state), ...decision?.shown }
  // Nothing personal leaves once the erasure of the patient has begun.
  if (event.mode === 'thin' || deps.vault.isClosed(event.orgId, state.patientId))
    return { text: JSON.stringify({ id: view.id, status: view.status, ...decision?.named }), shown: null }
  const urls = await signDownloads(deps.objects, view, deps.configuration.downloadUrlTtlSeconds)
  const record = toAssessmentRecord(view, urls)
  const categories = [...(contentOf?.(record) ?? [])].toSorted()
  return {
    text: JSON.stringify({ ...record, ...decision?.named }),
    shown: categories.length === 0 ? null : { patientId: record.patient_id, categories },
  }
}

/** The end does not change any more, so a cached state that contains it is enough. */
async function endedAssessment({ store }: Dependencies, event: DeliveredEnd): Promise<EndedAssessment> {
  const state = await loadSufficient(store, assessments.of(event.orgId, event.assessmentId), hasEnded)
  if (!hasEnded(state)) throw new Error('a webhook names an assessment that has not ended')
  return state
}

/** The event of the delivery is one of several decisions that the assessment may have. */
async function decisionOf({ store }: Dependencies, { orgId, assessmentId, eventId }: DeliveredEnd) {
  for await (const { id, data } of store.readStream<AssessmentEvent>(assessments.of(orgId, assessmentId).stream)) {
    if (id !== eventId || !('agreesWithAi' in data)) continue
    const { humanReview: review } = humanReviewAfter({ type: 'AssessmentHumanReviewDecided', data })
    return { named: { task_id: data.taskId, ai_review_id: data.aiReviewId }, shown: { review } }
  }
  throw new Error('a webhook names a decision that the assessment does not have')
}
