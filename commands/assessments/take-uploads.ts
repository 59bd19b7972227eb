import { Problem, problem, type ProblemCode } from '../../platform/http/problems.ts'
import type { ReceivedImage } from '../../streams/assessment/events.ts'
import type { DomainEvent, Target } from '../../streams/store/events.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type { Decision, Refusal } from '../handling/decision.ts'
import { execute, type Executed } from '../handling/execute.ts'
import type { AssessmentRouteDependencies } from '../handling/dependencies.ts'
import { freezeUploads, type AwaitedUploads, type FrozenUploads } from './freeze-uploads.ts'

/** What declares images, awaits their bytes and takes them: an assessment, or an image by itself. */
export interface UploadOwner<State, Event extends DomainEvent> {
  readonly target: Target<State, Event>
  /** The uploads that are to be taken; undefined once they were. */
  readonly awaited: (state: State) => AwaitedUploads | Refusal<ProblemCode> | undefined
  /** `images` are checked and stored for good. */
  readonly take: (images: readonly ReceivedImage[], state: State) => Decision<Event, ProblemCode>
  /** Keys of the stored images that the state names. */
  readonly namedObjects: (state: State) => ReadonlySet<string>
}

/**
 * Takes uploads once, whoever asks and however often. What a lost race had copied is removed, and the submission that won
 * is the answer. No refusal changes anything.
 *
 * @param requireRevision throws where the caller expects another revision than the one that would be changed
 * @throws Problem what `awaited` and `take` refuse with, and those of `freezeUploads`
 */
export async function takeUploads<State, Event extends DomainEvent>(
  { store, objects, configuration, now, randomPart }: AssessmentRouteDependencies,
  { target, awaited, take, namedObjects }: UploadOwner<State, Event>,
  requireRevision: (revision: StreamRevision) => void,
  context: CommandContext,
): Promise<Executed<State, Event>> {
  async function look() {
    const { state, revision, position } = await store.load(target)
    const uploads = awaited(state)
    if (uploads !== undefined && 'refused' in uploads) throw problem(uploads.refused)
    return { uploads, found: { state, revision, events: [], position: undefined, reached: position } }
  }

  const { uploads, found } = await look()
  if (uploads === undefined) return found
  requireRevision(found.revision)

  let frozen: FrozenUploads
  try {
    frozen = await freezeUploads(
      { objects, requiresDimensions: configuration.profile === 'production', now, randomPart },
      uploads,
    )
  } catch (error) {
    // Another call may have submitted meanwhile, and have removed the uploads: then its submission is the answer.
    const after = error instanceof Problem ? await look() : undefined
    if (after !== undefined && after.uploads === undefined) return after.found
    throw error
  }

  try {
    const done = await execute(store, target, (state) => take(frozen.images, state), context)
    await frozen.discard(namedObjects(done.state))
    return done
  } catch (error) {
    // A refusal appends nothing. After any other failure an event may name the copies, so they stay.
    if (error instanceof Problem) await frozen.discard(namedObjects((await store.load(target)).state))
    throw error
  }
}
