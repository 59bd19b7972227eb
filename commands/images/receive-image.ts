import type { ReceivedImage } from '../../streams/assessment/events.ts'
import type { ImageEvent } from '../../streams/image/events.ts'
import type { AwaitedImage, ImageState } from '../../streams/image/aggregate.ts'
import type { CausingRequest } from '../../streams/types.ts'
import { refuse, type Decision, type Refusal } from '../handling/decision.ts'

/** A call of submit, before the upload is looked at. */
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

/** What a submit meets: an upload to check, bytes that are there already, or a refusal. */
export function meetImageSubmission({ request, now }: Submission, state: ImageState): 'upload' | 'received' | Refusal {
  if (state.status === 'absent') return refuse('not-found')
  if (state.status === 'awaiting_upload')
    return isUploadOpen(now, state) ? 'upload' : refuse('image-not-awaiting-upload')
  const isReused = isReceivedBy(request, state) && request?.fingerprint !== state.submittedBy?.fingerprint
  return isReused ? refuse('idempotency-key-reused') : 'received'
}

/** Whether the call carries the very Idempotency-Key that submitted the image. */
export function isReceivedBy(request: CausingRequest, state: ImageState): boolean {
  return state.status === 'received' && state.submittedBy !== null && state.submittedBy.key === request?.key
}

export function receiveImage({ image, ...submission }: ReceiveImage, state: ImageState): Decision<ImageEvent> {
  const met = meetImageSubmission(submission, state)
  if (typeof met !== 'string') return met
  if (state.status !== 'awaiting_upload') return []
  const { request, now } = submission
  return [{ type: 'ImageReceived', data: { ...image, receivedAt: now.toISOString(), request } }]
}
