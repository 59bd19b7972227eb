import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../../streams/human-review-task/events.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { assessmentFact } from '../../streams/facts.ts'
import { taskFact } from '../../streams/human-review-facts.ts'
import { KilledError, mortal } from '../users/mortal-process.ts'
import { sinceSubmitted, submitted, type Submitted } from './submitted.ts'

let world: ProcessWorld
beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())

interface Reviewed extends Submitted {
  readonly taskId: string
  readonly aiReviewId: string
}

const opened = 'AssessmentHumanReviewOpened'
const decided = 'AssessmentHumanReviewDecided'
const cancelled = 'AssessmentHumanReviewCancelled'
const decision = [taskFact('HumanReviewOpinionGiven'), taskFact('HumanReviewTaskDecided')]

async function appendTo(assessmentId: string, event: AssessmentEvent): Promise<void> {
  const target = assessments.of(world.orgId, assessmentId)
  await world.store.append(target, (await world.store.load(target)).revision, [event], contextOf(world))
}

/** Another instance appends to the task. */
async function append({ taskId }: Reviewed, ...events: readonly HumanReviewTaskEvent[]): Promise<void> {
  const target = humanReviewTasks.of(world.orgId, taskId)
  await world.otherStore.append(target, (await world.otherStore.load(target)).revision, events, contextOf(world))
}

/** An assessment that a review has ended, with a task of this review. */
async function reviewed(...events: readonly HumanReviewTaskEvent[]): Promise<Reviewed> {
  const assessment = await submitted(world)
  const story = await withTask(assessment, 1, ...events)
  await complete(story)
  return story
}

async function complete({ assessmentId, aiReviewId }: Reviewed): Promise<void> {
  await appendTo(assessmentId, assessmentFact('AssessmentCompleted', { assessmentId, aiReviewId }))
}

/** A task of a review of the assessment. A newer review has a larger number. */
async function withTask(
  assessment: Submitted,
  reviewOrdinal: number,
  ...events: readonly HumanReviewTaskEvent[]
): Promise<Reviewed> {
  const aiReviewId = randomUUID()
  const story = { ...assessment, aiReviewId, taskId: humanReviewTaskId(aiReviewId) }
  const { taskId, assessmentId } = story
  const of = { taskId, aiReviewId, reviewOrdinal, assessmentId, organisationId: world.orgId }
  await append(story, taskFact('HumanReviewTaskOpened', of), ...events)
  return story
}

const todoOf = (step: string, { taskId, assessmentId }: Reviewed): TodoRow => {
  const cause = { eventId: randomUUID(), correlationId: randomUUID() }
  return { key: taskId, step, orgId: world.orgId, dueAt: world.now(), payload: { cause, assessmentId } }
}
const follow = (todo: TodoRow, deps = world.deps) => whenWorkedOff(assessmentsProcess, todo, deps, world.now())
const typesOf = async (story: Submitted) => (await sinceSubmitted(world, story)).slice(1).map(({ type }) => type)

// The rows of the table of crash points in processes/README.md.
const points: readonly (readonly [string, string, readonly HumanReviewTaskEvent[], readonly string[]])[] = [
  ['the opening', 'follow-opened-task', [], [opened]],
  ['the opening and the decision', 'follow-ended-task', decision, [opened, decided]],
  [
    'the opening and the cancellation',
    'follow-ended-task',
    [taskFact('HumanReviewTaskCancelled')],
    [opened, cancelled],
  ],
]

test.each(points)('recording %s, killed before the append and repeated after it', async (_, step, events, types) => {
  const story = await reviewed(...events)
  const todo = todoOf(step, story)
  const killed = mortal(world.deps, 0)
  await expect(follow(todo, killed.deps)).rejects.toBeInstanceOf(KilledError)
  expect(killed.killedBefore()).toBe(`assessment: ${types.join(', ')}`)
  expect(await typesOf(story)).toEqual([])
  for (let twice = 0; twice < 2; twice += 1) await follow(todo)
  expect(await typesOf(story)).toEqual(types)
})

test.each([
  ['decision', decision, decided],
  ['cancellation', [taskFact('HumanReviewTaskCancelled')], cancelled],
] as const)('recording the %s of a review that is open, killed and repeated', async (_, events, type) => {
  const story = await reviewed()
  await follow(todoOf('follow-opened-task', story))
  await append(story, ...events)
  const todo = todoOf('follow-ended-task', story)
  const killed = mortal(world.deps, 0)
  await expect(follow(todo, killed.deps)).rejects.toBeInstanceOf(KilledError)
  expect(killed.killedBefore()).toBe(`assessment: ${type}`)
  for (let twice = 0; twice < 2; twice += 1) await follow(todo)
  expect(await typesOf(story)).toEqual([opened, type])
})

test('two workers and both rows record each change once, whichever row comes first', async () => {
  const story = await reviewed(...decision)
  const rows = [todoOf('follow-ended-task', story), todoOf('follow-opened-task', story)]
  await Promise.all([...rows, ...rows].map((todo) => follow(todo)))
  expect(await typesOf(story)).toEqual([opened, decided])
})

test('a repeat of the opening that finds the task decided appends events of other ids', async () => {
  const story = await reviewed()
  const todo = todoOf('follow-opened-task', story)
  await follow(todo)
  await append(story, ...decision)
  await follow(todo)
  expect(await typesOf(story)).toEqual([opened, decided])
  const eventIds: string[] = []
  const { stream } = assessments.of(world.orgId, story.assessmentId)
  for await (const { id } of world.otherStore.readStream(stream)) eventIds.push(id)
  expect(new Set(eventIds).size).toBe(eventIds.length)
})

test('the changes have the instants of the task', async () => {
  const story = await reviewed(...decision)
  await follow(todoOf('follow-ended-task', story))
  const { assessmentId, taskId, aiReviewId } = story
  const named = { assessmentId, taskId, isNewest: true }
  const { openedAt } = taskFact('HumanReviewTaskOpened').data
  const { decidedAt } = taskFact('HumanReviewTaskDecided').data
  expect((await sinceSubmitted(world, story)).slice(1)).toEqual([
    { type: opened, data: { ...named, reviewOrdinal: 1, openedAt } },
    { type: decided, data: { ...named, aiReviewId, agreesWithAi: false, decidedAt } },
  ])
})

/** What the assessment contains about decisions. */
async function decisionsOf(story: Submitted) {
  return (await sinceSubmitted(world, story)).filter(({ type }) => type === decided).map(({ data }) => data)
}

test('a task that was decided before the end of the assessment waits for it', async () => {
  const story = await withTask(await submitted(world), 1, ...decision)
  const rows = [todoOf('follow-opened-task', story), todoOf('follow-ended-task', story)]
  for (const todo of rows) expect(await follow(todo)).toMatchObject({ kind: 'retry', reason: 'assessment_not_ended' })

  const waitAfter = async (ms: number) =>
    follow({ ...todoOf('follow-ended-task', story), dueAt: new Date(world.now().getTime() - ms) })
  expect(await waitAfter(60_000)).toMatchObject({ after: 15_000 })
  // Uploads may take days.
  expect(await waitAfter(86_400_000)).toMatchObject({ after: 30_000 })
  await complete(story)
  for (const todo of rows) await follow(todo)
  expect(await typesOf(story)).toEqual([opened, decided])
})

test('a decision after the deadline of the assessment is recorded', async () => {
  const assessment = await submitted(world)
  const { assessmentId } = assessment
  const expired = { assessmentId, aiReviewId: null, code: 'ANALYSIS_TIMEOUT' as const }
  await appendTo(assessmentId, assessmentFact('AssessmentFailed', expired))
  const story = await withTask(assessment, 1, ...decision)
  await follow(todoOf('follow-ended-task', story))
  expect(await decisionsOf(story)).toMatchObject([
    { taskId: story.taskId, aiReviewId: story.aiReviewId, isNewest: true },
  ])
})

test('the decisions of a superseded review and of its successor are both recorded, in either order', async () => {
  for (const isLate of [false, true]) {
    const assessment = await submitted(world)
    const older = await withTask(assessment, 1, ...decision)
    await complete(older)
    const newer = await withTask(assessment, 2, ...decision)
    for (const story of isLate ? [newer, older] : [older, newer])
      for (let twice = 0; twice < 2; twice += 1) await follow(todoOf('follow-ended-task', story))
    const found = await decisionsOf(assessment)
    const of = ({ taskId, aiReviewId }: Reviewed, isNewest: boolean) => ({ taskId, aiReviewId, isNewest })
    expect(found).toMatchObject(isLate ? [of(newer, true), of(older, false)] : [of(older, true), of(newer, true)])
  }
})
