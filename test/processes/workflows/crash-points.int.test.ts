import { afterAll, beforeAll, expect, test } from 'vitest'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { KilledError, mortal } from '../users/mortal-process.ts'
import {
  assessed,
  awaitingAssessment,
  cancelled,
  caseOf,
  closed,
  dueOf,
  eventIdsOf,
  instanceEvents,
  openedCase,
  openWorkflowWorld,
  workOffStory,
  type WorkflowStory,
  type WorkflowWorld,
} from './workflow-story.ts'

// Each row of the table in docs/decisions/0025-the-case-decides-about-its-assessment.md.

let world: WorkflowWorld
beforeAll(async () => {
  world = await openWorkflowWorld()
})
afterAll(() => world.close())

const awaiting = ['WorkflowInstanceStarted', 'WorkflowOutputProduced', 'WorkflowAssessmentRequested']
const parked = ['WorkflowInstanceStarted', 'WorkflowStepParked']

interface Story {
  /** What the due steps do, in their order. */
  readonly effects: readonly string[]
  readonly given: () => Promise<WorkflowStory>
  /** The events of the instances, once nothing is due. */
  readonly ends: readonly (readonly string[])[]
}

async function begun(): Promise<WorkflowStory> {
  const story = await openedCase(world)
  await workOffStory(world, story)
  return story
}

async function requested(): Promise<WorkflowStory> {
  return awaitingAssessment(world, await begun())
}

async function underWay(): Promise<WorkflowStory> {
  const story = await requested()
  await workOffStory(world, story)
  return story
}

const stories: Readonly<Record<string, Story>> = {
  'starting the instance of a case': {
    effects: ['workflow_instance: WorkflowInstanceStarted, WorkflowStepParked'],
    given: () => openedCase(world),
    ends: [parked],
  },
  'assigning an assessment to a case and its instance': {
    effects: ['case: CaseAssessmentAssigned', 'workflow_instance: WorkflowAssessmentAssigned'],
    given: requested,
    ends: [parked, [...awaiting, 'WorkflowAssessmentAssigned']],
  },
  'completing an instance with its assessment': {
    effects: ['workflow_instance: WorkflowInstanceCompleted'],
    given: async () => {
      const story = await underWay()
      await assessed(world, story, 'AssessmentCompleted')
      return story
    },
    ends: [parked, [...awaiting, 'WorkflowAssessmentAssigned', 'WorkflowInstanceCompleted']],
  },
  'failing an instance with its assessment': {
    effects: ['workflow_instance: WorkflowInstanceFailed'],
    given: async () => {
      const story = await underWay()
      await assessed(world, story, 'AssessmentFailed')
      return story
    },
    ends: [parked, [...awaiting, 'WorkflowAssessmentAssigned', 'WorkflowInstanceFailed']],
  },
  'a second instance that awaits an assessment that has ended': {
    effects: ['workflow_instance: WorkflowAssessmentAssigned, WorkflowInstanceCompleted'],
    given: async () => {
      const story = await underWay()
      await assessed(world, story, 'AssessmentCompleted')
      await workOffStory(world, story)
      return awaitingAssessment(world, story)
    },
    ends: [
      parked,
      [...awaiting, 'WorkflowAssessmentAssigned', 'WorkflowInstanceCompleted'],
      [...awaiting, 'WorkflowAssessmentAssigned', 'WorkflowInstanceCompleted'],
    ],
  },
  'cancelling the instances of a closed case': {
    effects: ['workflow_instance: WorkflowInstanceCancelled', 'workflow_instance: WorkflowInstanceCancelled'],
    given: async () => {
      const story = await requested()
      await closed(world, story)
      return story
    },
    ends: [
      [...parked, 'WorkflowInstanceCancelled'],
      [...awaiting, 'WorkflowInstanceCancelled'],
    ],
  },
  'an instance whose case is closed before it starts': {
    effects: ['workflow_instance: WorkflowInstanceStarted, WorkflowStepParked'],
    given: async () => {
      const story = await openedCase(world)
      await closed(world, story)
      return story
    },
    ends: [[...parked, 'WorkflowInstanceCancelled']],
  },
}

/** Runs what is due now, once. */
async function workOffOnce(story: WorkflowStory, deps: WorkflowWorld['deps']): Promise<void> {
  for (const { process, todo } of await dueOf(world, story)) await whenWorkedOff(process, todo, deps, world.now())
}

/** One assessment per case, created exactly if it is assigned. */
async function expectWhole(story: WorkflowStory, expected: Story['ends']): Promise<void> {
  expect(await instanceEvents(world, story)).toEqual(expected)
  const { assessmentId } = await caseOf(world, story)
  if (assessmentId === null) return
  const { state } = await world.otherStore.load(assessments.of(world.orgId, assessmentId))
  expect(state).toMatchObject({ caseId: story.caseId, mode: 'collected', images: [{ imageId: story.imageId }] })
}

test.each(Object.entries(stories))('%s does these things', async (_, { effects, given, ends }) => {
  const story = await given()
  const process = mortal(world.deps, effects.length)
  await workOffOnce(story, process.deps).catch((error: unknown) => expect(error).toBeInstanceOf(KilledError))
  expect(process.done).toEqual(effects)
  await workOffStory(world, story)
  await expectWhole(story, ends)
})

const crashes = Object.entries(stories).flatMap(([name, story]) =>
  story.effects.map((effect, done) => ({ name, effect, done, ...story })),
)

test.each(crashes)('$name, killed before $effect ($done)', async ({ effect, done, given, ends }) => {
  const story = await given()
  const process = mortal(world.deps, done)
  await expect(workOffOnce(story, process.deps)).rejects.toBeInstanceOf(KilledError)
  expect(process.killedBefore()).toBe(effect)
  await workOffStory(world, story)
  await expectWhole(story, ends)
})

test('creating the assessment, killed before its append and repeated after it', async () => {
  const story = await requested()
  // The assignment alone.
  const [assign] = await dueOf(world, story)
  if (assign === undefined) throw new Error('nothing is due')
  await whenWorkedOff(assign.process, assign.todo, world.deps, world.now())
  const [create] = await dueOf(world, story)
  if (create === undefined) throw new Error('the assessment is not due')
  expect(create.todo.step).toBe('create-collected')
  const process = mortal(world.deps, 0)
  await expect(whenWorkedOff(create.process, create.todo, process.deps, world.now())).rejects.toBeInstanceOf(
    KilledError,
  )
  expect(process.killedBefore()).toBe('assessment: AssessmentRequested, AssessmentSubmitted, AssessmentReviewRequested')
  for (let twice = 0; twice < 2; twice += 1) await whenWorkedOff(create.process, create.todo, world.others, world.now())
  await workOffStory(world, story)
  await expectWhole(story, [parked, [...awaiting, 'WorkflowAssessmentAssigned']])
})

test('an assigned assessment is created although its instance was cancelled', async () => {
  const story = await requested()
  const process = mortal(world.deps, 1)
  await expect(workOffOnce(story, process.deps)).rejects.toBeInstanceOf(KilledError)
  await cancelled(world, story)
  await workOffStory(world, story)
  await expectWhole(story, [parked, [...awaiting, 'WorkflowInstanceCancelled']])
  expect((await caseOf(world, story)).assessmentId).not.toBeNull()
})

test('two instances of a case, worked off at once by two processes, take one assessment', async () => {
  const story = await awaitingAssessment(world, await requested())
  await Promise.all([workOffStory(world, story, world.deps), workOffStory(world, story)])
  const assigned = [...awaiting, 'WorkflowAssessmentAssigned']
  await expectWhole(story, [parked, assigned, assigned])
})

test('two instances that end with one assessment have events of their own', async () => {
  const story = await awaitingAssessment(world, await underWay())
  await workOffStory(world, story)
  await assessed(world, story, 'AssessmentCompleted')
  await workOffStory(world, story)
  const completed = [...awaiting, 'WorkflowAssessmentAssigned', 'WorkflowInstanceCompleted']
  await expectWhole(story, [parked, completed, completed])
  // Consumers of the channel recognise a repeat by the id that follows from this one.
  const ids = await eventIdsOf(world, story)
  expect(new Set(ids).size).toBe(ids.length)
})

test('a step that runs again, because the answer to its append was lost, ends the instance by an event of its own', async () => {
  const story = await requested()
  const [assign] = await dueOf(world, story)
  if (assign === undefined) throw new Error('nothing is due')
  await whenWorkedOff(assign.process, assign.todo, world.deps, world.now())
  // The assessment ends before the list has removed the row.
  const [create] = await dueOf(world, story)
  if (create === undefined) throw new Error('the assessment is not due')
  await whenWorkedOff(create.process, create.todo, world.deps, world.now())
  await assessed(world, story, 'AssessmentCompleted')
  await whenWorkedOff(assign.process, assign.todo, world.others, world.now())
  await workOffStory(world, story)
  await expectWhole(story, [parked, [...awaiting, 'WorkflowAssessmentAssigned', 'WorkflowInstanceCompleted']])
  const ids = await eventIdsOf(world, story)
  expect(new Set(ids).size).toBe(ids.length)
})
