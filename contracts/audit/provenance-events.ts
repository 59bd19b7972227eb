import type { EventStore } from '../../engine/store/event-store.ts'
import { headOf, type StoredEvent } from '../../engine/store/decoding.ts'
import { UndecodableEventError } from '../../engine/store/errors.ts'
import { isJsonObject } from '../../engine/store/events.ts'
import type { StoredBytes } from '../../engine/store/log-frames.ts'
import { problem } from '../../platform/http/problems.ts'
import { comparePositions, startOfLog } from '../../platform/kit/positions.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { aiReviews, requiredConsentCode, type AiReviewState } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { consents } from '../../streams/consent/aggregate.ts'
import { consentTypes } from '../../streams/consent-type/aggregate.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'
import { listOf, textOf, type ProvenEvent } from './offline/proven-events.ts'

export type ProvenanceStore = Pick<EventStore, 'load' | 'readUnsigned' | 'isSigned'>

/** A signed event, as its bytes and as they are read. */
export interface ProvenanceEvent {
  readonly stored: StoredBytes
  readonly proven: ProvenEvent
}

/** Events of one document, and the bytes of their data. A review of 1,000 polls has 2,000 events. */
const mostEvents = 2_500
const mostBytes = 16 * 1024 * 1024

type EndedReview = Exclude<AiReviewState, { status: 'absent' }>

/**
 * The events that the document of a review follows from, read now. The streams of the review and of its human review are
 * whole. That of the consents is whole up to the end of the review: so it shows that no other decision was in force.
 * @throws Problem `provenance-too-large`, UndecodableEventError
 */
export async function provenanceEvents(
  store: ProvenanceStore,
  tenant: TenantId,
  review: EndedReview,
): Promise<readonly ProvenanceEvent[]> {
  let bytes = 0
  const found: ProvenanceEvent[] = []

  function take(events: readonly ProvenanceEvent[]): readonly ProvenanceEvent[] {
    found.push(...events)
    for (const { stored } of events) bytes += stored.dataBytes.length
    if (found.length > mostEvents || bytes > mostBytes) throw problem('provenance-too-large')
    return events
  }

  async function read({ stream }: { readonly stream: string }, types?: readonly string[], limit = mostEvents + 1) {
    const events: ProvenanceEvent[] = []
    let left = mostBytes
    for await (const event of store.readUnsigned(stream, { from: 'start', direction: 'forwards', limit })) {
      const signed = await signedEvent(store, event)
      if (types?.includes(event.type) === false) continue
      events.push(signed)
      left -= event.dataBytes.length
      if (left < 0) throw problem('provenance-too-large')
    }
    return events
  }

  const { aiReviewId, caseId, patientId, productId } = review
  const own = take(await read(aiReviews.of(tenant, aiReviewId)))
  const { state } = await store.load(cases.of(tenant, caseId))
  take(await read(cases.of(tenant, caseId), ['CaseOpened'], 1))

  const assessmentId = state.status === 'absent' ? null : state.assessmentId
  const ofAssessment =
    assessmentId === null
      ? []
      : await read(assessments.of(tenant, assessmentId), ['AssessmentRequested', 'AssessmentSubmitted'])
  const isOfProduct = ofAssessment.some(({ proven }) => textOf(proven.data, 'productId') === productId)
  if (isOfProduct) take(ofAssessment)
  const submitted = isOfProduct
    ? ofAssessment.flatMap(({ proven }) => listOf(proven.data, 'images').map((image) => textOf(image, 'imageId')))
    : []
  for (const { imageId } of review.images)
    if (!submitted.includes(imageId)) take(await read(images.of(tenant, imageId), ['ImageDeclared', 'ImageReceived']))

  const decisions = patientId === null ? [] : take(upToEnd(await read(consents.of(tenant, patientId)), own))
  const texts = new Map(
    decisions
      .filter(({ proven }) => textOf(proven.data, 'consentTypeCode') === requiredConsentCode)
      .map(({ proven }) => [textOf(proven.data, 'textVersionId'), textOf(proven.data, 'consentTypeId') ?? '']),
  )
  for (const typeId of new Set(texts.values()))
    take(
      (await read(consentTypes.of(tenant, typeId), ['ConsentTextVersionPublished'])).filter(({ proven }) =>
        texts.has(textOf(proven.data, 'textVersionId')),
      ),
    )
  take(await read(humanReviewTasks.of(tenant, humanReviewTaskId(aiReviewId))))
  return found
}

/** Decisions that a check of the review could have found: by their places in the log, because its clock may step back. */
function upToEnd(decisions: readonly ProvenanceEvent[], review: readonly ProvenanceEvent[]) {
  const end = review.at(-1)?.stored.position ?? startOfLog
  const named = new Set(review.map(({ proven }) => textOf(proven.data, 'consentDecisionId')))
  const last = decisions.findLastIndex(
    ({ stored, proven }) => comparePositions(stored.position, end) <= 0 || named.has(textOf(proven.data, 'consentId')),
  )
  return decisions.slice(0, last + 1)
}

async function signedEvent(store: ProvenanceStore, event: StoredEvent): Promise<ProvenanceEvent> {
  const head = headOf(event)
  const { id, type, revision, data, created } = event
  const stored = {
    ...head,
    created,
    dataBytes: Buffer.from(event.dataBytes),
    metadataBytes: Buffer.from(event.metadataBytes),
  }
  if (!isJsonObject(data) || !(await store.isSigned(stored))) throw new UndecodableEventError(head, 'signature')
  return { stored, proven: { id, stream: head.stream, revision: Number(revision), type, data } }
}
