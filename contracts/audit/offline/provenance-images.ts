import { eventsOf, firstOf, listOf, memberOf, numberOf, textOf, type ProvenEvent } from './proven-events.ts'

interface Bytes {
  readonly sha256: string | null
  readonly bytes: number | null
  readonly event_id: string
}

interface ReviewedImage {
  readonly id: string | null
  /** As the provider names it. */
  readonly image_type: string | null
  /** As the client named it. Null for an image at an address of the caller. */
  readonly capture_type: string | null
  /** What the platform received. Null for an image at an address of the caller. */
  readonly received: Bytes | null
  /** Each time that the provider took it. */
  readonly sent: (Bytes & { readonly at: string | null; readonly provider_image_id: number | null })[]
}

/** The images of a review: as they were received, and as they were sent. */
export function imagesOf(
  review: readonly ProvenEvent[],
  {
    streamOf,
    events,
  }: { readonly streamOf: (category: string, id: string) => string; readonly events: readonly ProvenEvent[] },
  assessment: readonly ProvenEvent[],
): ReviewedImage[] {
  return listOf(firstOf(review, 'AiReviewRequested')?.data, 'images').map((image) => {
    const id = textOf(image, 'imageId')
    const own = id === null ? [] : eventsOf(events, streamOf('image', id))
    const isThis = (each: unknown) => id !== null && textOf(each, 'imageId') === id
    const declared = firstOf(own, 'ImageDeclared')?.data
    const ofAssessment = listOf(firstOf(assessment, 'AssessmentRequested')?.data, 'images').find(isThis)
    return {
      id,
      image_type: textOf(image, 'imageType'),
      capture_type: textOf(declared, 'captureType') ?? textOf(ofAssessment, 'captureType'),
      received: receivedOf(own, assessment, isThis),
      sent: review
        .filter(({ type, data }) => type === 'AiReviewImageSent' && isThis(data))
        .map((event) => ({
          ...bytesOf(memberOf(event.data, 'sent'), event),
          at: textOf(event.data, 'sentAt'),
          provider_image_id: numberOf(event.data, 'providerImageId'),
        })),
    }
  })
}

/** In its own stream, or in the one of its assessment. */
function receivedOf(
  own: readonly ProvenEvent[],
  assessment: readonly ProvenEvent[],
  isThis: (image: unknown) => boolean,
): Bytes | null {
  const received = firstOf(own, 'ImageReceived')
  if (received !== undefined) return bytesOf(memberOf(received.data, 'object'), received)
  const submitted = firstOf(assessment, 'AssessmentSubmitted')
  const image = listOf(submitted?.data, 'images').find(isThis)
  return submitted === undefined || image === undefined ? null : bytesOf(memberOf(image, 'object'), submitted)
}

function bytesOf(value: unknown, { id }: ProvenEvent): Bytes {
  return { sha256: textOf(value, 'sha256'), bytes: numberOf(value, 'bytes'), event_id: id }
}
