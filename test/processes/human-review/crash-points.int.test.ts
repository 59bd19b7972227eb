import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { textAt } from '../../../app/demo/members.ts'
import { humanReviewProcess } from '../../../processes/human-review/human-review.process.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { aiReviewChannelStream } from '../../../streams/channels/ai-review.ts'
import { humanReviewPolicies } from '../../../streams/human-review-policy/aggregate.ts'
import type { PolicyRule } from '../../../streams/human-review-policy/events.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../../streams/human-review-task/events.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { givenImages, reviewFact } from '../../streams/ai-review-facts.ts'
import { reviewPublicFact } from '../../streams/channel-facts.ts'
import { caseFact, ids } from '../../streams/facts.ts'
import { clinicians, policyFact, rule, taskFact } from '../../streams/human-review-facts.ts'
import { KilledError, mortal } from '../users/mortal-process.ts'

// Each row of the table of crash points in processes/README.md.

let world: ProcessWorld
beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())
beforeEach(() => world.reset())

interface Story {
  readonly taskId: string
  readonly aiReviewId: string
}

function newStory(): Story {
  const aiReviewId = randomUUID()
  return { aiReviewId, taskId: humanReviewTaskId(aiReviewId) }
}

function todoOf({ taskId }: Story, step: string, payload: object = {}): TodoRow {
  const cause = { eventId: randomUUID(), correlationId: randomUUID() }
  return { key: taskId, step, orgId: world.orgId, dueAt: world.now(), payload: { cause, ...payload } }
}

/** A completed review with its case and assessment, and a policy with this rule. */
async function completed(
  selecting: PolicyRule,
  productId: string = ids.product,
  assessmentId: string | null = randomUUID(),
): Promise<[Story & { readonly caseId: string }, TodoRow]> {
  const caseId = await openedCase(randomUUID(), assessmentId)
  return completedFor(caseId, selecting, { productId })
}

async function openedCase(caseId: string, assessmentId: string | null = randomUUID()): Promise<string> {
  const { orgId, store } = world
  const of = { organisationId: orgId, caseId, assessmentId }
  await store.append(cases.of(orgId, caseId), 'no_stream', [caseFact('CaseOpened', of)], contextOf(world))
  return caseId
}

/** The same for a case that may not be open. */
async function completedFor(
  caseId: string,
  selecting: PolicyRule,
  { productId = ids.product, ...request }: Partial<typeof givenImages & { productId: string; patientId: string }> = {},
): Promise<[Story & { readonly caseId: string }, TodoRow]> {
  const { orgId, store } = world
  const story = { ...newStory(), caseId }
  const { aiReviewId } = story
  const review = [reviewFact('AiReviewRequested', { aiReviewId, orgId, caseId, productId, ...request })]
  await store.append(aiReviews.of(orgId, aiReviewId), 'no_stream', review, contextOf(world))

  const policy = humanReviewPolicies.of(orgId)
  const set = policyFact('HumanReviewPolicySet', { organisationId: orgId, rules: [selecting] })
  const appended = await store.append(policy, (await store.load(policy)).revision, [set], contextOf(world))

  const id = randomUUID()
  const { type, data } = reviewPublicFact('ai_review.completed', { aiReviewId, caseId, productId, orgId, event_id: id })
  const before = await store.readLast(aiReviewChannelStream.name)
  const metadata = { commandId: randomUUID(), $correlationId: randomUUID(), $causationId: randomUUID() }
  const { revision } = await store.appendRaw(aiReviewChannelStream.name, before?.revision ?? 'no_stream', [
    { id, type, data, metadata },
  ])
  const places = { channelRevision: revision.toString(), policyRevision: appended.revision.toString() }
  return [story, todoOf(story, 'open', places)]
}

async function openedTask(...more: readonly HumanReviewTaskEvent[]): Promise<Story> {
  const story = newStory()
  const opened = taskFact('HumanReviewTaskOpened', { ...story, organisationId: world.orgId })
  const events = [opened, ...more]
  await world.store.append(humanReviewTasks.of(world.orgId, story.taskId), 'no_stream', events, contextOf(world))
  return story
}

async function eventsOf({ taskId }: Story) {
  const events: { readonly type: string; readonly data: unknown }[] = []
  const { stream } = humanReviewTasks.of(world.orgId, taskId)
  for await (const { type, data } of world.otherStore.readStream(stream)) events.push({ type, data })
  return events
}

async function claimed(): Promise<Story> {
  const of = { userId: clinicians.ada, leaseUntil: world.now().toISOString() }
  return openedTask(taskFact('HumanReviewTaskClaimed', of))
}

const points: Readonly<
  Record<
    string,
    {
      readonly given: () => Promise<[Story, TodoRow]>
      /** Appends to other streams that come first. */
      readonly before?: number
      readonly last: HumanReviewTaskEvent['type']
    }
  >
> = {
  'opening a task': { given: () => completed(rule({ always: true })), before: 1, last: 'HumanReviewTaskOpened' },
  'passing a review': { given: () => completed(rule({ categories: ['none'] })), last: 'HumanReviewNotSelected' },
  'ending a lease': {
    given: async () => {
      const story = await claimed()
      return [story, todoOf(story, 'end-lease')]
    },
    last: 'HumanReviewTaskReleased',
  },
  'cancelling with a superseded review': {
    given: async () => {
      const story = await claimed()
      return [story, todoOf(story, 'supersede')]
    },
    last: 'HumanReviewTaskCancelled',
  },
  'cancelling with a withdrawn consent': {
    given: async () => {
      world.services.consent = 'withdrawn'
      const story = await openedTask()
      return [story, todoOf(story, 'withdraw')]
    },
    last: 'HumanReviewTaskCancelled',
  },
  'recording the assessment of a task': {
    given: async () => {
      const story = newStory()
      const alone = taskFact('HumanReviewTaskOpened', { ...story, organisationId: world.orgId, assessmentId: null })
      const events = [alone, taskFact('HumanReviewTaskDecided', { taskId: story.taskId })]
      await world.store.append(humanReviewTasks.of(world.orgId, story.taskId), 'no_stream', events, contextOf(world))
      return [story, todoOf(story, 'assign', { assessmentId: ids.assessment })]
    },
    last: 'HumanReviewAssessmentAssigned',
  },
  'confirming a consent': {
    given: async () => {
      const story = await openedTask()
      return [story, todoOf(story, 'withdraw')]
    },
    last: 'HumanReviewConsentConfirmed',
  },
}

test.each(Object.entries(points))('%s, killed before the append and repeated after it', async (_, point) => {
  const [story, todo] = await point.given()
  const before = (await eventsOf(story).catch(() => [])).length
  const killed = mortal(world.deps, point.before ?? 0)
  await expect(whenWorkedOff(humanReviewProcess, todo, killed.deps, world.now())).rejects.toBeInstanceOf(KilledError)
  expect(killed.killedBefore()).toBe(`humanreviewtask: ${point.last}`)
  for (let twice = 0; twice < 2; twice += 1) await whenWorkedOff(humanReviewProcess, todo, world.deps, world.now())
  const after = await eventsOf(story)
  expect(after.map(({ type }) => type).slice(before)).toEqual([point.last])
})

async function caseOf(story: Story) {
  const [opened] = await eventsOf(story)
  return cases.of(world.orgId, textAt(opened?.data, 'caseId'))
}

async function eventsOfCase(story: Story): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of world.otherStore.readStream((await caseOf(story)).stream)) types.push(type)
  return types
}

test('starting the review of a case, killed before the append and repeated after it', async () => {
  const [story, todo] = await completed(rule({ always: true }))
  const killed = mortal(world.deps, 0)
  await expect(whenWorkedOff(humanReviewProcess, todo, killed.deps, world.now())).rejects.toBeInstanceOf(KilledError)
  expect(killed.killedBefore()).toBe('case: CaseHumanReviewStarted')
  for (let twice = 0; twice < 2; twice += 1) await whenWorkedOff(humanReviewProcess, todo, world.deps, world.now())
  expect(await eventsOfCase(story)).toEqual(['CaseOpened', 'CaseHumanReviewStarted'])
})

test('a review that no rule selects leaves its case', async () => {
  const [story, todo] = await completed(rule({ categories: ['none'] }))
  const killed = mortal(world.deps, 9)
  await whenWorkedOff(humanReviewProcess, todo, killed.deps, world.now())
  expect(killed.done).toEqual(['humanreviewtask: HumanReviewNotSelected'])
  expect((await eventsOf(story)).map(({ type }) => type)).toEqual(['HumanReviewNotSelected'])
})

test('a task has what selected it, the assessment of its case and product, and the lesions of the AI', async () => {
  const [story, todo] = await completed(rule({ always: true, share: 1, opinions: 2 }))
  await whenWorkedOff(humanReviewProcess, todo, world.deps, world.now())
  const [opened] = await eventsOf(story)
  const icd10 = { code: 'D22.9', term: 'Melanocytic naevi, unspecified' }
  expect(opened?.data).toMatchObject({
    ...story,
    patientId: ids.patient,
    assessmentId: expect.any(String),
    reviewOrdinal: expect.any(Number),
    selectedBy: ['always', 'share'],
    opinionsRequired: 2,
    providerVersion: '4.2',
    lesions: [{ lesionNumber: 1, category: 'Benign', icd10 }],
  })
})

test('a review of another product has no assessment', async () => {
  const [story, todo] = await completed(rule({ always: true }), randomUUID())
  await whenWorkedOff(humanReviewProcess, todo, world.deps, world.now())
  expect((await eventsOf(story)).map(({ data }) => data)).toMatchObject([{ assessmentId: null }])
})

test('a task has the assessment that its case had at its start, also if its opening is repeated after another', async () => {
  const [story, todo] = await completed(rule({ always: true }), ids.product, null)
  const killed = mortal(world.deps, 1)
  await expect(whenWorkedOff(humanReviewProcess, todo, killed.deps, world.now())).rejects.toBeInstanceOf(KilledError)
  expect(killed.killedBefore()).toBe('humanreviewtask: HumanReviewTaskOpened')

  // The case gets its assessment now. Its list makes `assign` due, which comes first.
  const { caseId } = story
  const ofCase = cases.of(world.orgId, caseId)
  const assigned = caseFact('CaseAssessmentAssigned', { caseId })
  await world.otherStore.append(ofCase, (await world.otherStore.load(ofCase)).revision, [assigned], contextOf(world))
  const assign = todoOf(story, 'assign', { assessmentId: ids.assessment })
  const early = await whenWorkedOff(humanReviewProcess, assign, world.deps, world.now())
  expect(early).toMatchObject({ kind: 'retry', reason: 'task_not_opened' })

  for (let twice = 0; twice < 2; twice += 1) await whenWorkedOff(humanReviewProcess, todo, world.deps, world.now())
  for (let twice = 0; twice < 2; twice += 1) await whenWorkedOff(humanReviewProcess, assign, world.deps, world.now())
  expect(await eventsOf(story)).toMatchObject([
    { type: 'HumanReviewTaskOpened', data: { assessmentId: null } },
    { type: 'HumanReviewAssessmentAssigned', data: { assessmentId: ids.assessment } },
  ])
})

test('a task of a case with an assigned assessment has it before the first event of the assessment', async () => {
  const [story, todo] = await completed(rule({ always: true }), ids.product, null)
  const ofCase = cases.of(world.orgId, story.caseId)
  const assigned = caseFact('CaseAssessmentAssigned', { caseId: story.caseId })
  await world.otherStore.append(ofCase, (await world.otherStore.load(ofCase)).revision, [assigned], contextOf(world))
  await whenWorkedOff(humanReviewProcess, todo, world.deps, world.now())
  expect((await eventsOf(story)).map(({ data }) => data)).toMatchObject([{ assessmentId: ids.assessment }])
})

test('a task stays while the consent is unknown', async () => {
  world.services.consent = null
  const story = await openedTask()
  const outcome = await whenWorkedOff(humanReviewProcess, todoOf(story, 'withdraw'), world.deps, world.now())
  expect(outcome).toMatchObject({ kind: 'retry', reason: 'consent_check_unavailable' })
  expect(await eventsOf(story)).toHaveLength(1)
})

test('a task waits until a process has opened the case of an assessment whose route died', async () => {
  const [story, todo] = await completedFor(randomUUID(), rule({ always: true }))
  const work = () => whenWorkedOff(humanReviewProcess, todo, world.deps, world.now())
  expect(await work()).toMatchObject({ kind: 'retry', reason: 'case_not_opened' })
  expect(await eventsOf(story)).toEqual([])
  await openedCase(story.caseId)
  expect(await work()).toMatchObject({ kind: 'done' })
  const { state } = await world.store.load(cases.of(world.orgId, story.caseId))
  expect(state).toMatchObject({ status: 'in_review' })
})

test('a task waits for no case of another service, nor for one of an erased patient', async () => {
  const patientId = randomUUID()
  world.deps.vault.closeSubject(world.orgId, patientId)
  for (const request of [givenImages, { patientId }]) {
    const [story, todo] = await completedFor(randomUUID(), rule({ always: true }), request)
    expect(await whenWorkedOff(humanReviewProcess, todo, world.deps, world.now())).toMatchObject({ kind: 'done' })
    expect((await eventsOf(story)).map(({ type }) => type)).toEqual(['HumanReviewTaskOpened'])
  }
})
