import { describe, expect, it } from 'vitest'
import { humanReviewProjector } from '../../../projections/human-review/human-review.projector.ts'
import { humanReviewPolicies } from '../../../streams/human-review-policy/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../../streams/human-review-task/events.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { at, ids } from '../../streams/facts.ts'
import { clinicians, ownTask, policyFact, rule, taskFact, taskId } from '../../streams/human-review-facts.ts'

const rowsOf = (...events: HumanReviewTaskEvent[]) => rowsAfter(humanReviewProjector, recorded(events.map(ownTask)))
const { ada } = clinicians
const [opened, claimed] = [taskFact('HumanReviewTaskOpened'), taskFact('HumanReviewTaskClaimed')]

const task = {
  task_id: taskId,
  org_id: ids.org,
  status: 'open',
  ai_review_id: ids.review,
  case_id: ids.case,
  patient_id: ids.patient,
  product_id: ids.product,
  assessment_id: ids.assessment,
  selected_by: ['categories', 'share'],
  opinions_required: 1,
  claimed_by: null,
  lease_until: null,
  decision_number: null,
  agrees_with_ai: null,
  cancel_reason: null,
  created_at: at(60),
  updated_at: at(60),
  decided_at: null,
  stream_revision: '0',
}

describe('the human-review read model', () => {
  it('has the policy that was set last', async () => {
    const { stream } = humanReviewPolicies.of(ids.org)
    const rules = [rule({ always: true })]
    const second = policyFact('HumanReviewPolicySet', { rules, updatedBy: null, updatedAt: at(5) })
    const rows = await rowsAfter(
      humanReviewProjector,
      recorded([policyFact('HumanReviewPolicySet'), second].map((event) => ({ ...event, stream }))),
    )
    const kept = { rules, lease_seconds: 900, updated_by: null, updated_at: at(5), stream_revision: '1' }
    expect(rows['policies']).toEqual([{ org_id: ids.org, ...kept }])
  })

  it('has a task with the lesions of the AI, and who holds it', async () => {
    expect(await rowsOf(opened)).toEqual({
      policies: [],
      tasks: [task],
      opinions: [],
      lesions: [
        { task_id: taskId, lesion_number: 1, provider_version: '5.2.1', category: 'MALIGNANT' },
        { task_id: taskId, lesion_number: 2, provider_version: '5.2.1', category: 'BENIGN' },
      ],
    })
    const held = { ...task, status: 'claimed', claimed_by: ada, lease_until: at(970), updated_at: at(70) }
    expect((await rowsOf(opened, claimed))['tasks']).toEqual([{ ...held, stream_revision: '1' }])
    const released = await rowsOf(opened, claimed, taskFact('HumanReviewTaskReleased'))
    expect(released['tasks']).toEqual([{ ...task, updated_at: at(80), stream_revision: '2' }])
  })

  it('has the opinions, without note and corrections of an erased patient, and the decision', async () => {
    const erased = taskFact('HumanReviewOpinionGiven', { note: null, corrections: null })
    const second = taskFact('HumanReviewOpinionGiven', { number: 2, userId: clinicians.bob, opinionsRequired: 3 })
    const rows = await rowsOf(opened, claimed, erased, claimed, second)
    const { lesions, corrections } = second.data
    const opinion = { task_id: taskId, number: 1, user_id: ada, recommendation: 'urgent_referral', note: null }
    expect(rows['opinions']).toEqual([
      { ...opinion, lesions, corrections: null, given_at: at(90) },
      { ...opinion, lesions, corrections, number: 2, user_id: clinicians.bob, note: 'canary-note', given_at: at(90) },
    ])
    expect(rows['tasks']).toEqual([{ ...task, opinions_required: 3, updated_at: at(90), stream_revision: '4' }])
    const decided = await rowsOf(opened, claimed, erased, taskFact('HumanReviewTaskDecided'))
    const decision = { status: 'decided', decision_number: 1, agrees_with_ai: false, decided_at: at(90) }
    expect(decided['tasks']).toEqual([{ ...task, ...decision, updated_at: at(90), stream_revision: '3' }])
  })

  it('has the reason of a cancellation, after events that changed only its revision', async () => {
    for (const event of [taskFact('HumanReviewConsentConfirmed'), taskFact('HumanReviewReleaseUnneeded')])
      expect((await rowsOf(opened, event))['tasks']).toEqual([{ ...task, stream_revision: '1' }])
    const cancelled = await rowsOf(opened, claimed, taskFact('HumanReviewTaskCancelled'))
    const ended = { status: 'cancelled', cancel_reason: 'superseded', updated_at: at(100), stream_revision: '2' }
    expect(cancelled['tasks']).toEqual([{ ...task, ...ended }])
  })

  it('has no row of a review that no rule selected', async () => {
    expect(await rowsOf(taskFact('HumanReviewNotSelected'))).toMatchObject({ tasks: [], lesions: [] })
  })
})
