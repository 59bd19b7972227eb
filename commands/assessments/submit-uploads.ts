import { Problem, problem } from '../../platform/problems.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import { assessmentFold, type AssessmentState } from '../../streams/assessment/state.ts'
import { assessmentStream } from '../../streams/assessment/stream.ts'
import type { CommandContext, StreamRevision } from '../../streams/store/events.ts'
import type { CausingRequest } from '../../streams/types.ts'
import { execute, type Executed } from '../handling/execute.ts'
import type { AssessmentRouteDependencies } from './dependencies.ts'
import { freezeUploads } from './freeze-uploads.ts'
import { namedObjects } from './named-objects.ts'
import { meetSubmission, submitAssessment } from './submit-assessment.ts'

export interface SubmitUploads {
  readonly orgId: string
  readonly assessmentId: string
  readonly request: CausingRequest
  /** Throws where the caller expects another revision than the one that would be changed. */
  readonly requireRevision: (revision: StreamRevision) => void
}

/**
 * Submits the uploads of an assessment once, whoever asks and however often. What a lost race had copied is removed, and
 * the submission that won is the answer. No refusal changes anything.
 *
 * @throws Problem `not-found`, `assessment-not-awaiting-images`, `precondition-failed`, and those of `freezeUploads`
 */
export async function submitUploads(
  deps: AssessmentRouteDependencies,
  { orgId, assessmentId, request, requireRevision }: SubmitUploads,
  context: CommandContext,
): Promise<Executed<AssessmentState, AssessmentEvent>> {
  const { store, objects, configuration, now, newId, randomPart } = deps
  const target = { fold: assessmentFold, stream: assessmentStream(orgId, assessmentId) }

  async function look() {
    const { state, revision, position } = await store.load(target.fold, target.stream, { fresh: true })
    const met = meetSubmission({ request, now: now() }, state)
    if (typeof met !== 'string') throw problem(met.refused, met.details)
    return { state, revision, events: [], position: undefined, reached: position }
  }

  const before = await look()
  if (before.state.status !== 'awaiting_images') return before
  requireRevision(before.revision)

  const options = { objects, requiresDimensions: configuration.profile === 'production', now, randomPart }
  const awaited = { organisationId: orgId, ownerId: assessmentId, images: before.state.images }
  const frozen = await freezeUploads(options, awaited).catch(async (error: unknown) => {
    // Another call may have submitted meanwhile, and have removed the uploads: then its submission is the answer.
    const after = error instanceof Problem ? await look() : before
    if (after.state.status !== 'awaiting_images') return after
    throw error
  })
  if (!('images' in frozen)) return frozen

  const command = { request, caseId: newId(), images: frozen.images, deadlineMs: configuration.assessmentDeadlineSeconds * 1000 }
  try {
    const done = await execute(store, target, (state) => submitAssessment({ ...command, now: now() }, state), context)
    await frozen.discard(namedObjects(done.state))
    return done
  } catch (error) {
    // A refusal appends nothing. After any other failure an event may name the copies, so they stay.
    if (error instanceof Problem) await frozen.discard(namedObjects((await store.load(target.fold, target.stream, { fresh: true })).state))
    throw error
  }
}
