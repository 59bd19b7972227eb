import { describe, expect, it } from 'vitest'
import { humanReviewProcess } from '../../../processes/human-review/human-review.process.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { aiReviewChannelStream } from '../../../streams/channels/ai-review.ts'
import { consentChannelStream } from '../../../streams/channels/consent.ts'
import { humanReviewPolicies } from '../../../streams/human-review-policy/aggregate.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { rowsInMemory } from '../../support/rows-in-memory.ts'
import { reviewPublicFact, consentPublicFact } from '../../streams/channel-facts.ts'
import { at, caseFact, ids } from '../../streams/facts.ts'
import { ownTask, policyFact, rule, taskFact, taskId } from '../../streams/human-review-facts.ts'

const policy = (rules = [rule({ always: true })], revision = 0): GivenEvent => ({
  ...policyFact('HumanReviewPolicySet', { rules }),
  stream: humanReviewPolicies.of(ids.org).stream,
  revision: BigInt(revision),
})
const completed: GivenEvent = {
  ...reviewPublicFact('ai_review.completed', { occurred_at: at(59) }),
  stream: aiReviewChannelStream.name,
  revision: 41n,
}
const superseded: GivenEvent = {
  ...reviewPublicFact('ai_review.superseded', { supersededAt: at(62) }),
  stream: aiReviewChannelStream.name,
}
const refused = (changes: { consent_type_code?: string; patient_id?: string; occurred_at?: string } = {}) => ({
  ...consentPublicFact('consent.withdrawn', { consent_type_code: 'ai_analysis', occurred_at: at(63), ...changes }),
  stream: consentChannelStream.name,
})
const opened = ownTask(taskFact('HumanReviewTaskOpened'))
const claimed = ownTask(taskFact('HumanReviewTaskClaimed'))
const cancelled = ownTask(taskFact('HumanReviewTaskCancelled'))
const decided = ownTask(taskFact('HumanReviewTaskDecided'))
const ofCase = { stream: cases.of(ids.org, ids.case).stream }
const started = { ...caseFact('CaseHumanReviewStarted'), ...ofCase }
const concluded = { ...caseFact('CaseHumanReviewEnded'), ...ofCase }

function due(...given: GivenEvent[]): string[] {
  return todosAfter(humanReviewProcess, recorded(given)).map(({ key, step, dueAt }) => {
    expect(key).toBe(taskId)
    return `${step} ${dueAt.toISOString()}`
  })
}

describe('the task of a completed review', () => {
  it('is due if a policy with rules is in force at that event', () => {
    expect(due(policy(), completed)).toEqual([`open ${at(59)}`])
    expect(due(completed, policy())).toEqual([])
    expect(due(policy(), policy([], 1), completed)).toEqual([])
    const [todo] = todosAfter(humanReviewProcess, recorded([policy(), policy(undefined, 1), completed, policy([], 2)]))
    expect(todo?.payload).toMatchObject({ channelRevision: '41', policyRevision: '1' })
  })

  it('is due until it is opened, or no rule selected the review', () => {
    expect(due(policy(), completed, opened)).toEqual([])
    expect(due(policy(), completed, ownTask(taskFact('HumanReviewNotSelected')))).toEqual([])
  })
})

describe('the end of a lease', () => {
  it('is due at its instant, which moves with each claim', () => {
    expect(due(opened, claimed)).toEqual([`end-lease ${at(970)}`])
    expect(due(opened, claimed, ownTask(taskFact('HumanReviewTaskClaimed', { leaseUntil: at(980) })))).toEqual([
      `end-lease ${at(980)}`,
    ])
  })

  it('is no longer due after a release, an opinion or the end of the task', () => {
    for (const event of [
      ownTask(taskFact('HumanReviewTaskReleased')),
      ownTask(taskFact('HumanReviewOpinionGiven')),
      decided,
      cancelled,
    ])
      expect(due(opened, claimed, event)).toEqual([])
  })
})

describe('the cancellation of a task', () => {
  it('is due when its review is superseded, also before the task is opened', () => {
    expect(due(opened, superseded)).toEqual([`supersede ${at(62)}`])
    expect(due(policy(), completed, superseded)).toEqual([`open ${at(59)}`])
    expect(due(policy(), completed, superseded, opened)).toEqual([`supersede ${at(60)}`])
    expect(due(opened, superseded, cancelled)).toEqual([])
    expect(due(opened, decided, superseded)).toEqual([])
  })

  it('is examined when a consent of the patient is refused, also before the task is opened', () => {
    expect(due(opened, refused())).toEqual([`withdraw ${at(63)}`])
    expect(due(refused(), opened)).toEqual([`withdraw ${at(60)}`])
    expect(due(opened, refused(), refused({ occurred_at: at(64) }))).toEqual([`withdraw ${at(64)}`])
    expect(due(opened, refused({ consent_type_code: 'marketing' }))).toEqual([])
    expect(due(opened, refused({ patient_id: ids.otherPatient }))).toEqual([])
    expect(due(opened, decided, refused())).toEqual([])
  })

  it('ends with a confirmed consent, unless a later refusal follows', () => {
    const confirmed = ownTask(taskFact('HumanReviewConsentConfirmed', { checkedAt: at(63) }))
    expect(due(opened, refused(), confirmed)).toEqual([])
    expect(due(opened, refused(), refused({ occurred_at: at(64) }), confirmed)).toEqual([`withdraw ${at(64)}`])
  })
})

describe('the result of a task in its case', () => {
  it('is due from the end of the task until it is recorded', () => {
    expect(due(started, opened)).toEqual([])
    expect(due(started, opened, claimed, decided)).toEqual([`conclude ${at(90)}`])
    expect(due(started, opened, superseded, cancelled)).toEqual([`conclude ${at(100)}`])
    expect(due(started, opened, decided, concluded)).toEqual([])
  })

  it('is not due for a case of another service', () => {
    expect(due(opened, decided)).toEqual([])
  })

  it('leaves no row of a task', () => {
    const rows = (...given: GivenEvent[]) => rowsInMemory(humanReviewProcess.list, recorded(given))['tasks_of_cases']
    expect(rows(started, opened, decided)).toEqual([{ task_id: taskId, org_id: ids.org }])
    expect(rows(started, opened, decided, concluded)).toEqual([])
  })
})

describe('the assessment that a case gets after its task', () => {
  const alone = { ...caseFact('CaseHumanReviewStarted', { assessmentId: null }), ...ofCase }
  const assigned = { ...caseFact('CaseAssessmentAssigned'), ...ofCase }
  const recordedInTask = ownTask(taskFact('HumanReviewAssessmentAssigned'))

  it('is due until the task contains it, also before the task is opened and after its end', () => {
    expect(due(alone, opened)).toEqual([])
    expect(due(alone, assigned)).toEqual([`assign ${at(2)}`])
    expect(due(alone, opened, assigned)).toEqual([`assign ${at(2)}`])
    expect(due(alone, assigned, opened, decided, concluded)).toEqual([`assign ${at(2)}`])
    expect(due(alone, opened, decided, concluded, assigned)).toEqual([`assign ${at(2)}`])
    expect(due(alone, opened, assigned, recordedInTask)).toEqual([])
    const [todo] = todosAfter(humanReviewProcess, recorded([alone, assigned]))
    expect(todo?.payload).toMatchObject({ assessmentId: ids.assessment })
  })

  it('is not due for a task of another product, or that has its assessment', () => {
    expect(due({ ...alone, data: { ...alone.data, productId: ids.newReview } }, assigned)).toEqual([])
    expect(due(started, assigned)).toEqual([])
  })
})
