import { problem } from '../../platform/http/problems.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { ImageEvent } from '../../streams/image/events.ts'
import { images, type AwaitedImage, type ImageState } from '../../streams/image/aggregate.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import type { AssessmentRouteDependencies } from '../assessments/dependencies.ts'
import { takeUploads } from '../assessments/take-uploads.ts'
import type { UploadWindow } from '../assessments/uploads.ts'
import type { Executed } from '../../engine/commands/execute.ts'
import { meetImageSubmission, receiveImage } from './image-decisions.ts'

/** The key of an image's stored bytes. Any other object that was stored for it may be removed. */
export function keysOfImage(state: ImageState): ReadonlySet<string> {
  return new Set(state.status === 'received' ? [state.object.key] : [])
}

/** The window of an image without an assessment. */
export function windowOfImage({ organisationId, imageId, closesAt }: AwaitedImage): UploadWindow {
  return { organisationId, ownerId: imageId, closesAt }
}

export interface ReceiveUpload {
  readonly orgId: TenantId
  readonly imageId: string
  readonly request: CausingRequest
  /** Throws if the caller expects another revision than the current one. */
  readonly requireRevision: (revision: StreamRevision) => void
}

/** Errors point at the whole request, because it has no members. */
const pointerOf = () => ''

/**
 * Accepts the upload of an image once.
 * @throws Problem `not-found`, `image-not-awaiting-upload`, `precondition-failed`, and those of `takeUploads`
 */
export async function receiveUpload(
  deps: AssessmentRouteDependencies,
  { orgId, imageId, request, requireRevision }: ReceiveUpload,
  context: CommandContext,
): Promise<Executed<ImageState, ImageEvent>> {
  const { now } = deps
  return takeUploads(
    deps,
    {
      target: images.of(orgId, imageId),
      awaited: (state) => {
        const met = meetImageSubmission({ request, now: now() }, state)
        if (typeof met !== 'string') return met
        return state.status === 'awaiting_upload'
          ? { organisationId: orgId, ownerId: imageId, images: [state], pointerOf }
          : undefined
      },
      take: ([image], state) => {
        if (image === undefined) throw problem('internal-error')
        return receiveImage({ request, image, now: now() }, state)
      },
      namedObjects: keysOfImage,
    },
    requireRevision,
    context,
  )
}
