import { Problem, problem, type ProblemCode } from '../../platform/http/problems.ts'
import type { ReceivedImage } from '../../streams/assessment/events.ts'
import type { DomainEvent, Target } from '../../engine/store/events.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type { Decision, Refusal } from '../../engine/commands/decision.ts'
import { execute, type Executed } from '../../engine/commands/execute.ts'
import type { AssessmentRouteDependencies } from './dependencies.ts'
import { freezeUploads, type AwaitedUploads, type FrozenUploads } from './freeze-uploads.ts'

/** An assessment, or an image without one. It declares images, awaits their uploads and accepts them. */
export interface UploadOwner<State, Event extends DomainEvent> {
  readonly target: Target<State, Event>
  /** The awaited uploads. Undefined after they were accepted. */
  readonly awaited: (state: State) => AwaitedUploads | Refusal<ProblemCode> | undefined
  /** `images` are checked and stored permanently. */
  readonly take: (images: readonly ReceivedImage[], state: State) => Decision<Event, ProblemCode>
  /** Keys of the stored images that the state names. */
  readonly namedObjects: (state: State) => ReadonlySet<string>
}

/**
 * Accepts uploads once, for any number of requests. A request that loses a race removes its copies and returns the
 * submission that won. A refusal changes nothing.
 *
 * @param requireRevision throws if the caller expects another revision than the current one
 * @throws Problem the refusals of `awaited` and `take`, and those of `freezeUploads`
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
    // Another request may have submitted and removed the uploads meanwhile. Then its submission is the result.
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
