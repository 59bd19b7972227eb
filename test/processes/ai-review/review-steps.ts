import { randomUUID } from 'node:crypto'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { aiReviewProcess } from '../../../processes/ai-review/ai-review.process.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import type { StepResult } from '../../../engine/processes/step-run.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { foreignEventId, foreignEvents } from '../../../streams/foreign-event/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { reviewFact } from '../../streams/ai-review-facts.ts'
import { ids } from '../../streams/facts.ts'
import { foreignChannel, foreignFact, foreignRequest } from '../../streams/foreign-facts.ts'
import { workOff, type ProcessWorld } from '../../support/process-world.ts'

type Images = Pick<Extract<AiReviewEvent, { type: 'AiReviewRequested' }>['data'], 'images' | 'addresses'>

const image = { imageId: ids.image, imageType: 'DERMOSCOPIC' } as const

/** An image of the organisation in the object store. */
export async function storedImages({ deps, orgId }: Pick<ProcessWorld, 'deps' | 'orgId'>): Promise<Images> {
  const key = `images/2026-03-01/${orgId}/${ids.assessment}/${ids.image}/${randomUUID()}`
  await deps.objects.put(key, Buffer.from(`bytes ${randomUUID()}`), 'image/jpeg')
  return { images: [{ ...image, objectKey: key }], addresses: null }
}

/** An image at an address of the caller. */
export function imagesAt(presignedUrl: string): Images {
  return {
    images: [{ ...image, objectKey: null }],
    addresses: [{ imageId: ids.image, presignedUrl, presignedUrlExpiresAt: '2999-01-01T00:00:00.000Z' }],
  }
}

/** A review that is requested now, with these events. Returns its id. */
export async function seedReview(
  world: ProcessWorld,
  images: Images,
  ...facts: readonly AiReviewEvent[]
): Promise<string> {
  const aiReviewId = randomUUID()
  const requested = reviewFact('AiReviewRequested', {
    aiReviewId,
    orgId: world.orgId,
    ...images,
    requestedAt: world.now().toISOString(),
  })
  const stream = aiReviews.of(world.orgId, aiReviewId).stream
  await world.store.append({ fold: aiReviews, stream }, 'no_stream', [requested, ...facts], contextOf(world))
  return aiReviewId
}

export interface Running {
  readonly deps?: ProcessDependencies
  readonly signal?: AbortSignal
  /** As workers let a step do. Default: one call in a run. */
  readonly mayCallAgain?: boolean
  readonly todo?: Partial<TodoRow>
}

/** Runs one step of a review as if it were due now. */
export function runReviewStep(
  world: ProcessWorld,
  step: string,
  key: string,
  { todo, ...running }: Running = {},
): Promise<StepResult> {
  const payload = { cause: { eventId: randomUUID(), correlationId: randomUUID() } }
  return workOff(
    world,
    aiReviewProcess,
    { key, step, orgId: world.orgId, dueAt: world.now(), payload, ...todo },
    running,
  )
}

/** The events of the review. */
export async function recorded({ otherStore, orgId }: ProcessWorld, aiReviewId: string): Promise<AiReviewEvent[]> {
  const events: AiReviewEvent[] = []
  for await (const { type, data } of otherStore.readStream(aiReviews.of(orgId, aiReviewId).stream))
    events.push({ type, data } as AiReviewEvent)
  return events
}

export async function recordedTypes(world: ProcessWorld, aiReviewId: string): Promise<string[]> {
  return (await recorded(world, aiReviewId)).map(({ type }) => type)
}

/** A review whose images the simulator has received and processes. */
export async function awaitingReview(world: ProcessWorld, deps = world.deps, changes: object = {}): Promise<string> {
  const aiReviewId = await seedReview(world, { ...(await storedImages(world)), ...changes })
  for (let call = 1; call <= 3; call += 1) await runReviewStep(world, 'start', aiReviewId, { deps })
  const types = await recordedTypes(world, aiReviewId)
  if (types.at(-1) !== 'AiReviewProcessingAccepted') throw new Error(`the review awaits no result: ${types.join(', ')}`)
  return aiReviewId
}

/** A recorded request of another service, with an image that it stored and signed. Returns the id of the record. */
export async function requestOfAnotherService(
  { deps, store, orgId }: Pick<ProcessWorld, 'deps' | 'store' | 'orgId'>,
  caseId: string,
): Promise<string> {
  const key = `images/2026-03-01/${orgId}/${ids.assessment}/${ids.image}/${randomUUID()}`
  await deps.objects.put(key, Buffer.from('bytes'), 'image/jpeg')
  const presignedUrl = (await deps.objects.presignRead(key, 600)).url
  const eventId = randomUUID()
  const id = foreignEventId(foreignChannel, eventId)
  const images = foreignRequest.images.map((given) => ({ ...given, presignedUrl, zoom: 2 }))
  const request = { ...foreignRequest, orgId, caseId: caseId.toUpperCase(), images, urgency: 'high' }
  const fact = foreignFact('ForeignEventReceived', {
    foreignEventId: id,
    eventId,
    orgId,
    organisationIds: [orgId],
    phiSubject: id,
    data: JSON.stringify(request),
  })
  await store.append(foreignEvents.of(id), 'no_stream', [fact], {
    commandId: id,
    correlationId: id,
    orgId,
    process: 'foreign_events',
  })
  return id
}
