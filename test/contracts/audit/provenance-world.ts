import { hash } from 'node:crypto'
import { openProvenance } from '../../../contracts/audit/provenance.ts'
import type { ProvenanceReply } from '../../../contracts/audit/provenance-record.ts'
import { logKeys } from '../../../contracts/audit/log-keys.ts'
import type { DomainEvent, Target } from '../../../engine/store/events.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import { consentTypes } from '../../../streams/consent-type/aggregate.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { openSealingWorld, origin, type SealingWorld } from '../../processes/sealing/sealing-world.ts'
import { answered, reviewFact } from '../../streams/ai-review-facts.ts'
import { assessmentFact, at, caseFact, consentFact, consentTypeFact, ids } from '../../streams/facts.ts'
import { taskFact } from '../../streams/human-review-facts.ts'

const attempts = ['case', 'image', 'second-image', 'process', 'result'] as const
/** Ids of the attempts of the story. */
export const attemptOf = (call: (typeof attempts)[number]): string =>
  ids.attempt.replace(/..$/, `0${attempts.indexOf(call)}`)

export interface ProvenanceWorld extends SealingWorld {
  append<State, Event extends DomainEvent>(target: Target<State, Event>, events: readonly Event[]): Promise<void>
  provenance(aiReviewId?: string): Promise<ProvenanceReply>
  keys(): Promise<{
    readonly log: Awaited<ReturnType<typeof logKeys>>
    readonly witnesses: readonly []
    readonly documents: { readonly keys: unknown }
  }>
}

/** The log of one review from the consent to the decision of a clinician, without the last event. */
export async function openProvenanceWorld(): Promise<ProvenanceWorld> {
  const world = await openSealingWorld()
  const { orgId, store, vault, objects } = world
  const provenance = openProvenance({ store, vault, objects, configuration: { sealIntervalSeconds: 7 } })

  async function append<State, Event extends DomainEvent>(target: Target<State, Event>, events: readonly Event[]) {
    const { revision } = await store.load(target)
    await store.append(target, revision, events, contextOf(world))
  }

  const attempted = (call: (typeof attempts)[number], imageId: string | null = null) =>
    reviewFact('AiReviewCallAttempted', {
      attemptId: attemptOf(call),
      call: call === 'second-image' ? 'image' : call,
      imageId,
      ...(call === 'result' ? { consentCheckedAt: null, consentDecisionId: null } : {}),
    })
  const of = (call: (typeof attempts)[number]) => ({ answered: { ...answered, attemptId: attemptOf(call) } })
  const contentHash = hash('sha256', 'I agree.')

  await append(consentTypes.of(orgId, ids.consentType), [
    consentTypeFact('ConsentTypeCreated', { organisationId: orgId }),
    consentTypeFact('ConsentTextVersionPublished', { textVersionId: ids.event, text: 'Older.' }),
    consentTypeFact('ConsentTextVersionPublished', { contentHash }),
  ])
  await append(consents.of(orgId, ids.patient), [
    consentFact('ConsentRecorded', {
      organisationId: orgId,
      consentId: ids.event,
      consentTypeCode: 'research',
      consentTypeId: ids.claim,
      textVersionId: ids.claim,
    }),
    consentFact('ConsentRecorded', { organisationId: orgId, textSha256: contentHash }),
  ])
  await append(assessments.of(orgId, ids.assessment), [
    assessmentFact('AssessmentRequested', { organisationId: orgId }),
    assessmentFact('AssessmentSubmitted'),
  ])
  await append(cases.of(orgId, ids.case), [
    caseFact('CaseOpened', { organisationId: orgId, assessmentId: ids.assessment, productId: ids.product }),
  ])
  await append(aiReviews.of(orgId, ids.review), [
    reviewFact('AiReviewRequested', { orgId }),
    reviewFact('AiReviewStarted'),
    attempted('case'),
    reviewFact('AiReviewProviderCaseCreated', of('case')),
    attempted('image', ids.image),
    reviewFact('AiReviewImageSent', of('image')),
    attempted('second-image', ids.secondImage),
    reviewFact('AiReviewImageSent', { imageId: ids.secondImage, ...of('second-image') }),
    attempted('process'),
    reviewFact('AiReviewProcessingAccepted', of('process')),
    attempted('result'),
  ])
  await append(humanReviewTasks.of(orgId, humanReviewTaskId(ids.review)), [
    taskFact('HumanReviewTaskOpened', { organisationId: orgId }),
    taskFact('HumanReviewTaskClaimed'),
    taskFact('HumanReviewOpinionGiven'),
    taskFact('HumanReviewTaskDecided'),
  ])
  return {
    ...world,
    append,
    provenance: (aiReviewId = ids.review) => provenance.of(orgId, aiReviewId),
    async keys() {
      const documents = { keys: await vault.publicKeys('provenance') }
      return { log: await logKeys(vault, origin), witnesses: [], documents }
    },
  }
}

/** The end of the story's review. */
export const completed = reviewFact('AiReviewCompleted', {
  completedAt: at(18),
  answered: { ...answered, attemptId: attemptOf('result') },
})
