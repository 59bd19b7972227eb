import type { CausingRequest } from '../../engine/aggregates/types.ts'
import type { Decision } from '../../engine/commands/decision.ts'
import { decideTask } from '../../commands/human-review/opinions.ts'
import {
  assignAssessment,
  cancelTask,
  claimTask,
  confirmConsent,
  endLease,
  openTask,
  passReview,
  releaseTask,
} from '../../commands/human-review/tasks.ts'
import { humanReviewPolicies } from '../../streams/human-review-policy/aggregate.ts'
import { humanReviewTaskId, humanReviewTasks, type HumanReviewTask } from '../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../streams/human-review-task/events.ts'
import { ids } from '../../test/streams/facts.ts'
import { clinicians, policyFact, taskFact } from '../../test/streams/human-review-facts.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { Act } from './clinical-acts.ts'
import { endReview } from './review-acts.ts'
import type { Analysis, Review, Story } from './story.ts'

/** A policy of an organisation. Some have no rule, so that no review gets a task. */
export const setReviewPolicy: Act = (story, random) => {
  const organisationId = random.pick(story.organisations)
  const rules = random.oneIn(4) ? [] : policyFact('HumanReviewPolicySet').data.rules
  const set = policyFact('HumanReviewPolicySet', { organisationId, rules, updatedAt: story.instant(random) })
  story.append(organisationId, humanReviewPolicies.of(organisationId).stream, set)
}

/** A completed review gets a task, or none. Then tasks go some steps further. Without such a review, one is brought to its end. */
export const reviewByHuman: Act = (story, random, text) => {
  const fresh = story.analyses.find(({ review }) => !story.tasks.has(humanReviewTaskId(review.id)))
  if (fresh === undefined) endReview(story, random)
  else open(story, random, fresh)
  for (let left = random.below(8); left > 0 && story.tasks.size > 0; left -= 1) advance(story, random, text)
}

function advance(story: Story, random: SeededRandom, text: string): void {
  const [taskId, review] = random.pick([...story.tasks])
  const state = stateOf(story, review, taskId)
  if (state.status !== 'open' && state.status !== 'claimed') return
  append(story, review, taskId, advanced(story, random, state, review.patient?.readsAsNull === true ? null : text))
}

function open(story: Story, random: SeededRandom, { review, lesionNumbers }: Analysis): void {
  const { id: aiReviewId, orgId: organisationId, caseId, productId, patient } = review
  const taskId = humanReviewTaskId(aiReviewId)
  story.tasks.set(taskId, review)
  const command = { taskId, aiReviewId, now: new Date(story.instant(random)) }
  if (random.oneIn(8)) return append(story, review, taskId, passReview(command, humanReviewTasks.initialState))
  const { openedAt: _, ...usual } = taskFact('HumanReviewTaskOpened').data
  const [lesion] = usual.lesions
  const task = {
    ...usual,
    ...command,
    organisationId,
    caseId,
    productId,
    patientId: patient?.id ?? ids.patient,
    assessmentId: random.oneIn(2) ? null : story.id(random),
    opinionsRequired: random.pick([1, 2]),
    lesions: lesion === undefined ? [] : lesionNumbers.map((lesionNumber) => ({ ...lesion, lesionNumber })),
  }
  append(story, review, taskId, openTask(task, humanReviewTasks.initialState))
}

type Decided = Decision<HumanReviewTaskEvent, string>

/** One possible step of a task that has not ended. A step that is refused appends nothing. */
function advanced(story: Story, random: SeededRandom, task: HumanReviewTask, text: string | null): Decided {
  const now = new Date(story.instant(random))
  const { claim } = task
  const userId = claim?.userId ?? random.pick(Object.values(clinicians))
  const claimed = () => claimTask({ userId, leaseSeconds: 600, request: null, now }, task)
  const released = (request: CausingRequest) => releaseTask({ userId, request, now }, task)
  const { request: keyed } = taskFact('HumanReviewReleaseUnneeded').data
  const reason = random.pick(['superseded', 'consent_withdrawn'] as const)
  const assigned = () => assignAssessment({ assessmentId: story.id(random), now }, task)
  const others = [() => cancelTask({ reason, now }, task), () => confirmConsent({ now }, task), assigned]
  if (claim === null) return random.pick([claimed, claimed, claimed, claimed, () => released(keyed), ...others])()
  const decided = () => decideTask({ ...opinion(random, task, text), userId, request: null, now }, task)
  return random.pick([
    decided,
    decided,
    decided,
    decided,
    claimed,
    () => released(null),
    () => endLease({ now: new Date(claim.leaseUntil) }, task),
    ...others,
  ])()
}

function opinion(random: SeededRandom, { lesions }: HumanReviewTask, text: string | null) {
  const none = { icd10: null, snomed: null, category: null }
  return {
    lesions: lesions.map(({ lesionNumber, icd10 }) =>
      random.oneIn(2)
        ? { lesionNumber, outcome: 'correct' as const, icd10, snomed: null, category: text ?? 'BENIGN' }
        : { lesionNumber, outcome: random.pick(['confirm', 'reject'] as const), ...none },
    ),
    recommendation: 'refer' as const,
    note: text,
  }
}

function stateOf(story: Story, { orgId }: Review, taskId: string) {
  const { stream } = humanReviewTasks.of(orgId, taskId)
  const recorded = story.appends.filter((one) => one.stream === stream).flatMap(({ events }) => events)
  return (recorded as HumanReviewTaskEvent[]).reduce(humanReviewTasks.evolve, humanReviewTasks.initialState)
}

function append(story: Story, { orgId }: Review, taskId: string, decision: Decided): void {
  if ('refused' in decision || decision.length === 0) return
  story.append(orgId, humanReviewTasks.of(orgId, taskId).stream, ...decision)
}
