import { describe, expect, it } from 'vitest'
import { decideTask, type DecideTask } from '../../../commands/human-review/opinions.ts'
import {
  cancelTask,
  claimTask,
  confirmConsent,
  endLease,
  openTask,
  passReview,
  releaseTask,
} from '../../../commands/human-review/tasks.ts'
import { decisionsIn, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import { given } from '../../support/given-decider.ts'
import { at, hash } from '../../streams/facts.ts'
import { clinicians, opinionOn, taskFact } from '../../streams/human-review-facts.ts'

const { ada, bob, eve } = clinicians
const opened = taskFact('HumanReviewTaskOpened')
const claimed = taskFact('HumanReviewTaskClaimed')
const released = taskFact('HumanReviewTaskReleased')
const decided = taskFact('HumanReviewTaskDecided')
const cancelled = taskFact('HumanReviewTaskCancelled')
const opinion = taskFact('HumanReviewOpinionGiven', { request: null })
const request = { key: hash('a'), fingerprint: hash('b') }
const other = { ...request, fingerprint: hash('c') }
const when = (seconds: number) => ({ request: null, now: new Date(at(seconds)) })
const claim = { userId: ada, leaseSeconds: 900, ...when(70) }

describe('a task', () => {
  it('is opened once', () => {
    const { openedAt: _, ...data } = opened.data
    given(humanReviewTasks)
      .when(openTask, { ...data, now: new Date(at(60)) })
      .thenEvents([opened])
  })

  it('that does not exist, is decided or cancelled refuses a claim', () => {
    given(humanReviewTasks).when(claimTask, claim).thenRefused('not-found')
    given(humanReviewTasks, opened, claimed, opinion, decided).when(claimTask, claim).thenRefused('task-decided')
    given(humanReviewTasks, opened, cancelled).when(claimTask, claim).thenRefused('task-cancelled')
  })

  it('that does not exist, is decided or cancelled refuses a release', () => {
    const command = { userId: ada, ...when(70) }
    given(humanReviewTasks).when(releaseTask, command).thenRefused('not-found')
    given(humanReviewTasks, opened, claimed, opinion, decided).when(releaseTask, command).thenRefused('task-decided')
    given(humanReviewTasks, opened, cancelled).when(releaseTask, command).thenRefused('task-cancelled')
  })

  it('is cancelled while open or claimed, and stays once decided', () => {
    const command = { reason: 'superseded' as const, now: new Date(at(100)) }
    given(humanReviewTasks, opened).when(cancelTask, command).thenEvents([cancelled])
    given(humanReviewTasks, opened, claimed).when(cancelTask, command).thenEvents([cancelled])
    given(humanReviewTasks, opened, claimed, opinion, decided).when(cancelTask, command).thenNothing()
    given(humanReviewTasks).when(cancelTask, command).thenNothing()
  })
})

describe('a refusal of consent that a later decision overrides', () => {
  const command = { now: new Date(at(65)) }
  const confirmed = taskFact('HumanReviewConsentConfirmed')

  it('is recorded once, as long as the task has not ended', () => {
    given(humanReviewTasks, opened, claimed).when(confirmConsent, command).thenEvents([confirmed])
    given(humanReviewTasks, opened, confirmed).when(confirmConsent, command).thenNothing()
    given(humanReviewTasks, opened, cancelled).when(confirmConsent, command).thenNothing()
    given(humanReviewTasks, opened, confirmed)
      .when(confirmConsent, { now: new Date(at(66)) })
      .thenEvents([taskFact('HumanReviewConsentConfirmed', { checkedAt: at(66) })])
  })
})

describe('a review that no rule selects', () => {
  it('is passed once, and gets no task afterwards', () => {
    const { openedAt: _, ...data } = opened.data
    const command = { ...data, now: new Date(at(60)) }
    const passed = taskFact('HumanReviewNotSelected')
    given(humanReviewTasks).when(passReview, command).thenEvents([passed])
    given(humanReviewTasks, passed).when(passReview, command).thenNothing()
    given(humanReviewTasks, passed).when(openTask, command).thenNothing()
    given(humanReviewTasks, opened).when(passReview, command).thenNothing()
  })
})

describe('a claim', () => {
  it('gives the task to one user for the lease', () => {
    given(humanReviewTasks, opened).when(claimTask, claim).thenEvents([claimed])
    given(humanReviewTasks, opened, claimed)
      .when(claimTask, { ...claim, userId: bob })
      .thenRefused('task-claimed')
  })

  it('of the holder starts the lease anew', () => {
    given(humanReviewTasks, opened, claimed)
      .when(claimTask, { ...claim, ...when(500) })
      .thenEvents([taskFact('HumanReviewTaskClaimed', { leaseUntil: at(1_400), claimedAt: at(500) })])
  })

  it('ends with the lease: another user may claim from that instant on', () => {
    const late = { ...claim, userId: bob }
    given(humanReviewTasks, opened, claimed)
      .when(claimTask, { ...late, ...when(969.999) })
      .thenRefused('task-claimed')
    given(humanReviewTasks, opened, claimed)
      .when(claimTask, { ...late, ...when(970) })
      .thenEvents([
        taskFact('HumanReviewTaskReleased', { reason: 'lease_expired', releasedAt: at(970) }),
        taskFact('HumanReviewTaskClaimed', { userId: bob, leaseUntil: at(1_870), claimedAt: at(970) }),
      ])
  })

  it('is not possible after an opinion of the same user', () => {
    given(humanReviewTasks, taskFact('HumanReviewTaskOpened', { opinionsRequired: 2 }), claimed, opinion)
      .when(claimTask, { ...claim, ...when(95) })
      .thenRefused('opinion-given')
  })

  it('with a key is repeated without effect, also after a release; another body is refused', () => {
    const keyed = taskFact('HumanReviewTaskClaimed', { request })
    given(humanReviewTasks, opened)
      .when(claimTask, { ...claim, request })
      .thenEvents([keyed])
    given(humanReviewTasks, opened, keyed, released)
      .when(claimTask, { ...claim, ...when(90), request })
      .thenNothing()
    given(humanReviewTasks, opened, keyed)
      .when(claimTask, { ...claim, request: other })
      .thenRefused('idempotency-key-reused')
  })
})

describe('a release', () => {
  it('opens the task again; a task that nobody holds stays', () => {
    given(humanReviewTasks, opened, claimed)
      .when(releaseTask, { userId: ada, ...when(80) })
      .thenEvents([released])
    given(humanReviewTasks, opened)
      .when(releaseTask, { userId: bob, ...when(80) })
      .thenNothing()
  })

  it('with a key after the end of the lease is repeated without effect on the next claim', () => {
    const expired = taskFact('HumanReviewTaskReleased', { reason: 'lease_expired', request, releasedAt: at(980) })
    given(humanReviewTasks, opened, claimed)
      .when(releaseTask, { userId: ada, ...when(980), request })
      .thenEvents([expired])
    const again = taskFact('HumanReviewTaskClaimed', { leaseUntil: at(1_890), claimedAt: at(990) })
    given(humanReviewTasks, opened, claimed, expired, again)
      .when(releaseTask, { userId: ada, ...when(995), request })
      .thenNothing()
  })

  it('with a key of a task that nobody holds is repeated without effect on the next claim', () => {
    const unneeded = taskFact('HumanReviewReleaseUnneeded')
    const release = { userId: ada, ...when(80), request }
    given(humanReviewTasks, opened).when(releaseTask, release).thenEvents([unneeded])
    const next = taskFact('HumanReviewTaskClaimed', { leaseUntil: at(1_890), claimedAt: at(990) })
    given(humanReviewTasks, opened, unneeded, next)
      .when(releaseTask, { ...release, ...when(995), request })
      .thenNothing()
  })

  it('of a task that another user holds is refused', () => {
    given(humanReviewTasks, opened, claimed)
      .when(releaseTask, { userId: bob, ...when(80) })
      .thenRefused('task-claimed')
  })

  it('follows from the end of the lease, not before and not after an extension', () => {
    const expired = taskFact('HumanReviewTaskReleased', { reason: 'lease_expired', releasedAt: at(970) })
    given(humanReviewTasks, opened, claimed)
      .when(endLease, { now: new Date(at(970)) })
      .thenEvents([expired])
    given(humanReviewTasks, opened, claimed)
      .when(endLease, { now: new Date(at(969)) })
      .thenNothing()
    given(humanReviewTasks, opened, claimed, taskFact('HumanReviewTaskClaimed', { leaseUntil: at(1_400) }))
      .when(endLease, { now: new Date(at(970)) })
      .thenNothing()
    given(humanReviewTasks, opened)
      .when(endLease, { now: new Date(at(970)) })
      .thenNothing()
  })
})

describe('an opinion', () => {
  const { recommendation, note } = opinion.data
  const lesions = decisionsIn(opinion.data)
  const decide: DecideTask = { userId: ada, lesions, recommendation, note, ...when(90) }
  const twoNeeded = taskFact('HumanReviewTaskOpened', { opinionsRequired: 2 })
  const first = taskFact('HumanReviewOpinionGiven', { request: null, opinionsRequired: 2 })
  const claimedBy = (userId: string) => taskFact('HumanReviewTaskClaimed', { userId, leaseUntil: at(2_000) })
  const by = (userId: string, number: number, opinionsRequired: number) =>
    taskFact('HumanReviewOpinionGiven', { request: null, userId, number, opinionsRequired })

  it('of the holder decides the task, and the same one again changes nothing', () => {
    const state = given(humanReviewTasks, opened, claimed).when(decideTask, decide).thenEvents([opinion, decided])
    expect(state).toMatchObject({ status: 'decided', agreesWithAi: false, decision: { userId: ada }, claim: null })
  })

  it('agrees with the AI if it confirms every lesion', () => {
    const confirmed = lesions.map(({ lesionNumber }) => {
      return { lesionNumber, outcome: 'confirm' as const, icd10: null, snomed: null, category: null }
    })
    given(humanReviewTasks, opened, claimed)
      .when(decideTask, { ...decide, lesions: confirmed.toReversed() })
      .thenEvents([
        taskFact('HumanReviewOpinionGiven', { request: null, ...opinionOn(...confirmed) }),
        taskFact('HumanReviewTaskDecided', { agreesWithAi: true }),
      ])
  })

  it('needs the claim and its lease', () => {
    for (const facts of [[opened], [opened, claimed, released]] as const)
      given(humanReviewTasks, ...facts)
        .when(decideTask, decide)
        .thenRefused('task-not-claimed')
    given(humanReviewTasks, opened, claimed)
      .when(decideTask, { ...decide, userId: bob })
      .thenRefused('task-not-claimed')
    given(humanReviewTasks, opened, claimed)
      .when(decideTask, { ...decide, ...when(970) })
      .thenRefused('task-not-claimed')
  })

  it('is about each lesion exactly once', () => {
    const [one, two] = lesions
    if (one === undefined || two === undefined) throw new Error('the story has two lesions')
    for (const wrong of [[], [one], [one, one], [one, two, two], [one, { ...two, lesionNumber: 3 }]])
      given(humanReviewTasks, opened, claimed)
        .when(decideTask, { ...decide, lesions: wrong })
        .thenRefused('lesions-incomplete')
  })

  it('is refused once the task is decided or cancelled', () => {
    given(humanReviewTasks, opened, claimed, opinion, decided)
      .when(decideTask, { ...decide, recommendation: 'no_action' })
      .thenRefused('task-decided')
    given(humanReviewTasks, opened, claimed, cancelled).when(decideTask, decide).thenRefused('task-cancelled')
  })

  it('is the first of two: the task is open again', () => {
    const state = given(humanReviewTasks, twoNeeded, claimed).when(decideTask, decide).thenEvents([first])
    expect(state).toMatchObject({ status: 'open', claim: null, decision: null, opinionsRequired: 2 })
  })

  it('that agrees with the first one decides; the first one is the decision', () => {
    const otherNote = { ...decide, userId: bob, note: null }
    const state = given(humanReviewTasks, twoNeeded, claimed, first, claimedBy(bob))
      .when(decideTask, otherNote)
      .thenEvents([{ ...by(bob, 2, 2), data: { ...by(bob, 2, 2).data, note: null } }, decided])
    expect(state).toMatchObject({ decision: { userId: ada, note } })
  })

  it('that differs from the first one makes a third one necessary, and the third one is the decision', () => {
    const differing = { ...decide, userId: bob, recommendation: 'no_action' as const }
    const second = taskFact('HumanReviewOpinionGiven', { ...by(bob, 2, 3).data, recommendation: 'no_action' })
    const facts = [twoNeeded, claimed, first, claimedBy(bob)]
    const state = given(humanReviewTasks, ...facts)
      .when(decideTask, differing)
      .thenEvents([second])
    expect(state).toMatchObject({ status: 'open', opinionsRequired: 3 })
    given(humanReviewTasks, ...facts, second, claimedBy(eve))
      .when(decideTask, { ...decide, userId: eve })
      .thenEvents([by(eve, 3, 3), taskFact('HumanReviewTaskDecided', { opinion: 3 })])
  })

  it('with a key is repeated without effect; another body with it is refused', () => {
    const keyed = taskFact('HumanReviewOpinionGiven', { request })
    given(humanReviewTasks, opened, claimed)
      .when(decideTask, { ...decide, request })
      .thenEvents([keyed, decided])
    given(humanReviewTasks, opened, claimed, keyed, decided)
      .when(decideTask, { ...decide, request: other, recommendation: 'no_action' })
      .thenRefused('idempotency-key-reused')
  })
})
