import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import type { TodoRow } from '../../../processes/runtime/process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../../streams/human-review-task/events.ts'
import { contextOf } from '../../commands/handling/decision-world.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { assessmentFact } from '../../streams/facts.ts'
import { taskFact } from '../../streams/human-review-facts.ts'
import { KilledError, mortal } from '../users/mortal-process.ts'
import { sinceSubmitted, submitted, todoOf, type Submitted } from './submitted.ts'

let world: ProcessWorld
beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())

interface Reviewed extends Submitted {
  readonly taskId: string
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
async function tell({ taskId }: Reviewed, ...events: readonly HumanReviewTaskEvent[]): Promise<void> {
  const target = humanReviewTasks.of(world.orgId, taskId)
  await world.otherStore.append(target, (await world.otherStore.load(target)).revision, events, contextOf(world))
}

/** An assessment that a review has ended, with a task of this review. */
async function reviewed(...events: readonly HumanReviewTaskEvent[]): Promise<Reviewed> {
  const assessment = await submitted(world)
  const aiReviewId = randomUUID()
  await appendTo(
    assessment.assessmentId,
    assessmentFact('AssessmentCompleted', { assessmentId: assessment.assessmentId, aiReviewId }),
  )
  const story = { ...assessment, taskId: humanReviewTaskId(aiReviewId) }
  const { taskId, assessmentId } = story
  const of = { taskId, aiReviewId, assessmentId, organisationId: world.orgId }
  await tell(story, taskFact('HumanReviewTaskOpened', of), ...events)
  return story
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
  const todo = todoOf(world, step, story)
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
  await follow(todoOf(world, 'follow-opened-task', story))
  await tell(story, ...events)
  const todo = todoOf(world, 'follow-ended-task', story)
  const killed = mortal(world.deps, 0)
  await expect(follow(todo, killed.deps)).rejects.toBeInstanceOf(KilledError)
  expect(killed.killedBefore()).toBe(`assessment: ${type}`)
  for (let twice = 0; twice < 2; twice += 1) await follow(todo)
  expect(await typesOf(story)).toEqual([opened, type])
})

test('F16: two workers and both rows record each change once, whichever row comes first', async () => {
  const story = await reviewed(...decision)
  const rows = [todoOf(world, 'follow-ended-task', story), todoOf(world, 'follow-opened-task', story)]
  await Promise.all([...rows, ...rows].map((todo) => follow(todo)))
  expect(await typesOf(story)).toEqual([opened, decided])
})

test('F16: a repeat of the opening that finds the task decided appends events of other ids', async () => {
  const story = await reviewed()
  const todo = todoOf(world, 'follow-opened-task', story)
  await follow(todo)
  await tell(story, ...decision)
  await follow(todo)
  expect(await typesOf(story)).toEqual([opened, decided])
  const eventIds: string[] = []
  const { stream } = assessments.of(world.orgId, story.assessmentId)
  for await (const { id } of world.otherStore.readStream(stream)) eventIds.push(id)
  expect(new Set(eventIds).size).toBe(eventIds.length)
})

test('F16: the changes have the instants of the task', async () => {
  const story = await reviewed(...decision)
  await follow(todoOf(world, 'follow-ended-task', story))
  const { assessmentId, taskId } = story
  const named = { assessmentId, taskId }
  expect((await sinceSubmitted(world, story)).slice(1)).toEqual([
    { type: opened, data: { ...named, openedAt: taskFact('HumanReviewTaskOpened').data.openedAt } },
    {
      type: decided,
      data: { ...named, agreesWithAi: false, decidedAt: taskFact('HumanReviewTaskDecided').data.decidedAt },
    },
  ])
})
