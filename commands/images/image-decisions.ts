import type { ReceivedImage } from '../../streams/assessment/events.ts'
import type { ImageEvent } from '../../streams/image/events.ts'
import type { AwaitedImage, ImageState } from '../../streams/image/aggregate.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { refused, repeated, type Decision, type Refusal } from '../../engine/commands/decision.ts'

type Declared = Extract<ImageEvent, { type: 'ImageDeclared' }>['data']

export interface DeclareImage extends Omit<Declared, 'declaredAt' | 'closesAt'> {
  readonly now: Date
  /** Time limit of upload and submit. */
  readonly uploadWindowMs: number
}

export function declareImage(command: DeclareImage, state: ImageState): Decision<ImageEvent, 'idempotency-key-reused'> {
  if (state.status !== 'absent') return repeated(command, state)
  const { now, uploadWindowMs, ...declared } = command
  const closesAt = new Date(now.getTime() + uploadWindowMs).toISOString()
  return [{ type: 'ImageDeclared', data: { ...declared, declaredAt: now.toISOString(), closesAt } }]
}

/** A submit request, before its upload is read. */
export interface Submission {
  readonly request: CausingRequest
  readonly now: Date
}

export interface ReceiveImage extends Submission {
  /** Checked and frozen. */
  readonly image: ReceivedImage
}

/** Whether the bytes may still be uploaded and submitted. */
export function isUploadOpen(now: Date, { closesAt }: Pick<AwaitedImage, 'closesAt'>): boolean {
  return now.getTime() < Date.parse(closesAt)
}

export type SubmissionRefusal = 'not-found' | 'image-not-awaiting-upload' | 'idempotency-key-reused'

/** The case of a submit: an upload to check, bytes that were already received, or a refusal. */
export function meetImageSubmission(
  { request, now }: Submission,
  state: ImageState,
): 'upload' | 'received' | Refusal<SubmissionRefusal> {
  if (state.status === 'absent') return refused('not-found')
  if (state.status === 'awaiting_upload')
    return isUploadOpen(now, state) ? 'upload' : refused('image-not-awaiting-upload')
  const isReused = isReceivedBy(request, state) && request?.fingerprint !== state.submittedBy?.fingerprint
  return isReused ? refused('idempotency-key-reused') : 'received'
}

/** Whether the request has the Idempotency-Key that submitted the image. */
export function isReceivedBy(request: CausingRequest, state: ImageState): boolean {
  return state.status === 'received' && state.submittedBy !== null && state.submittedBy.key === request?.key
}

export function receiveImage(
  { image, ...submission }: ReceiveImage,
  state: ImageState,
): Decision<ImageEvent, SubmissionRefusal> {
  const met = meetImageSubmission(submission, state)
  if (typeof met !== 'string') return met
  if (state.status !== 'awaiting_upload') return []
  const { request, now } = submission
  return [{ type: 'ImageReceived', data: { ...image, receivedAt: now.toISOString(), request } }]
}
