import { Problem, problem } from '../../platform/problems.ts'
import type { ImageEvent } from '../../streams/image/events.ts'
import { imageFold, type ImageState } from '../../streams/image/state.ts'
import { imageStream } from '../../streams/image/stream.ts'
import type { CommandContext, StreamRevision } from '../../streams/store/events.ts'
import type { CausingRequest } from '../../streams/types.ts'
import type { AssessmentRouteDependencies } from '../assessments/dependencies.ts'
import { freezeUploads } from '../assessments/freeze-uploads.ts'
import { execute, type Executed } from '../handling/execute.ts'
import { meetImageSubmission, receiveImage } from './receive-image.ts'

export interface ReceiveUpload {
  readonly orgId: string
  readonly imageId: string
  readonly request: CausingRequest
  /** Throws where the caller expects another revision than the one that would be changed. */
  readonly requireRevision: (revision: StreamRevision) => void
}

/** The image itself is what is wrong: the request has no members. */
const pointerOf = () => ''

/**
 * Takes the upload of an image once, whoever asks and however often. What a lost race had copied is removed, and the
 * submission that won is the answer. No refusal changes anything.
 *
 * @throws Problem `not-found`, `image-not-awaiting-upload`, `precondition-failed`, and those of `freezeUploads`
 */
export async function receiveUpload(
  deps: AssessmentRouteDependencies,
  { orgId, imageId, request, requireRevision }: ReceiveUpload,
  context: CommandContext,
): Promise<Executed<ImageState, ImageEvent>> {
  const { store, objects, configuration, now, randomPart } = deps
  const target = { fold: imageFold, stream: imageStream(orgId, imageId) }

  async function look() {
    const { state, revision, position } = await store.load(target.fold, target.stream, { fresh: true })
    const met = meetImageSubmission({ request, now: now() }, state)
    if (typeof met !== 'string') throw problem(met.refused, met.details)
    return { state, revision, events: [], position: undefined, reached: position }
  }

  const before = await look()
  if (before.state.status !== 'awaiting_upload') return before
  requireRevision(before.revision)

  const options = { objects, requiresDimensions: configuration.profile === 'production', now, randomPart }
  const frozen = await freezeUploads(options, { organisationId: orgId, ownerId: imageId, images: [before.state], pointerOf }).catch(async (error: unknown) => {
    // Another call may have submitted meanwhile, and have removed the upload: then its submission is the answer.
    const after = error instanceof Problem ? await look() : before
    if (after.state.status !== 'awaiting_upload') return after
    throw error
  })
  if (!('images' in frozen)) return frozen
  const [image] = frozen.images
  if (image === undefined) throw problem('internal-error')

  try {
    const done = await execute(store, target, (state) => receiveImage({ request, image, now: now() }, state), context)
    await frozen.discard(keyNamedBy(done.state))
    return done
  } catch (error) {
    // A refusal appends nothing. After any other failure an event may name the copy, so it stays.
    if (error instanceof Problem) await frozen.discard(keyNamedBy((await store.load(target.fold, target.stream, { fresh: true })).state))
    throw error
  }
}

function keyNamedBy(state: ImageState): ReadonlySet<string> {
  return new Set(state.status === 'received' ? [state.object.key] : [])
}
