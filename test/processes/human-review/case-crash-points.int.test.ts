import { randomUUID } from 'node:crypto'
import { v5 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at } from '../../../app/demo/members.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { humanReviewProcess } from '../../../processes/human-review/human-review.process.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import type { CaseEvent } from '../../../streams/case/events.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent, LesionDecision } from '../../../streams/human-review-task/events.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { contextOf, interrupted, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { processDependencies } from '../../support/process-world.ts'
import { caseFact } from '../../streams/facts.ts'
import { opinionOn, taskFact } from '../../streams/human-review-facts.ts'
import { KilledError, mortal } from '../users/mortal-process.ts'

// The rows about cases in the table of crash points in processes/README.md.

let world: DecisionWorld
let egress: Egress
let deps: ProcessDependencies
beforeAll(async () => {
  world = await openDecisionWorld()
  egress = createEgress({ configuration: world.configuration })
  deps = processDependencies(world, egress)
})
afterAll(async () => {
  await egress.close()
  await world.close()
})

interface Story {
  readonly caseId: string
  readonly taskId: string
  readonly conclude: TodoRow
}

/** An ended task in its case, with this number of lesions. Every second lesion was rejected. */
async function endedTask(count: number, end: 'decided' | 'cancelled' = 'decided', hasFindings = true): Promise<Story> {
  const { orgId, store } = world
  const [aiReviewId, caseId] = [randomUUID(), randomUUID()]
  const taskId = humanReviewTaskId(aiReviewId)
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const found = numbers.flatMap((lesionNumber): CaseEvent[] => {
    const findingId = v5(String(lesionNumber), aiReviewId)
    const of = { caseId, aiReviewId, findingId, lesionNumber }
    const diagnosis = caseFact('CaseDiagnosisRecorded', { ...of, diagnosisId: v5('diagnosis', findingId) })
    return [caseFact('CaseFindingRecorded', { ...of, ordinal: lesionNumber, lesionCount: count }), diagnosis]
  })
  const start = caseFact('CaseHumanReviewStarted', { caseId, taskId, aiReviewId })
  const ofCase = [caseFact('CaseOpened', { caseId, organisationId: orgId }), start, ...(hasFindings ? found : [])]
  await store.append(cases.of(orgId, caseId), 'no_stream', ofCase, contextOf(world))

  const [usual] = taskFact('HumanReviewTaskOpened').data.lesions
  if (usual === undefined) throw new Error('the usual task has no lesion')
  const lesions = numbers.map((lesionNumber) => ({ ...usual, lesionNumber }))
  const opened = taskFact('HumanReviewTaskOpened', { taskId, organisationId: orgId, aiReviewId, caseId, lesions })
  const decisions = numbers.map((lesionNumber): LesionDecision => {
    const outcome = lesionNumber % 2 === 1 ? 'confirm' : 'reject'
    return { lesionNumber, outcome, icd10: null, snomed: null, category: null }
  })
  const events: HumanReviewTaskEvent[] =
    end === 'decided'
      ? [
          taskFact('HumanReviewOpinionGiven', { taskId, ...opinionOn(...decisions), request: null }),
          taskFact('HumanReviewTaskDecided', { taskId }),
        ]
      : [taskFact('HumanReviewTaskCancelled', { taskId })]
  await store.append(humanReviewTasks.of(orgId, taskId), 'no_stream', [opened, ...events], contextOf(world))
  const payload = { cause: { eventId: randomUUID(), correlationId: randomUUID() } }
  return { caseId, taskId, conclude: { key: taskId, step: 'conclude', orgId, dueAt: world.now(), payload } }
}

const work = ({ conclude }: Story, from = deps) => whenWorkedOff(humanReviewProcess, conclude, from, world.now())

/** The events of the case after `CaseHumanReviewStarted` and the findings. */
async function results({ caseId }: Story): Promise<string[]> {
  const types: string[] = []
  for await (const { type, data } of world.otherStore.readStream(cases.of(world.orgId, caseId).stream)) {
    const isOfAi = type === 'CaseDiagnosisRecorded' && at(data, 'source') === 'ai'
    if (!isOfAi && !['CaseOpened', 'CaseHumanReviewStarted', 'CaseFindingRecorded'].includes(type)) types.push(type)
  }
  return types
}

test('the result of a decision, killed before the append and repeated after it', async () => {
  const story = await endedTask(2)
  const killed = mortal(deps, 0)
  await expect(work(story, killed.deps)).rejects.toBeInstanceOf(KilledError)
  const appended = ['CaseDiagnosisSuperseded', 'CaseDiagnosisRecorded', 'CaseHumanReviewEnded']
  expect(killed.killedBefore()).toBe(`case: ${appended.join(', ')}`)
  expect(await results(story)).toEqual([])
  for (let twice = 0; twice < 2; twice += 1) expect(await work(story)).toMatchObject({ kind: 'done' })
  expect(await results(story)).toEqual(appended)
})

test('the result of a large decision, killed between its appends', async () => {
  const story = await endedTask(250)
  const killed = mortal(deps, 1)
  await expect(work(story, killed.deps)).rejects.toBeInstanceOf(KilledError)
  expect(await results(story)).toHaveLength(100)
  for (let twice = 0; twice < 2; twice += 1) await work(story)
  const after = await results(story)
  expect(after.filter((type) => type === 'CaseDiagnosisRecorded')).toHaveLength(125)
  expect(after.filter((type) => type === 'CaseDiagnosisSuperseded')).toHaveLength(125)
  expect(after.filter((type) => type === 'CaseHumanReviewEnded')).toHaveLength(1)
})

test('the result of a cancelled task, killed before the append', async () => {
  const story = await endedTask(2, 'cancelled', false)
  const killed = mortal(deps, 0)
  await expect(work(story, killed.deps)).rejects.toBeInstanceOf(KilledError)
  expect(killed.killedBefore()).toBe('case: CaseHumanReviewEnded')
  for (let twice = 0; twice < 2; twice += 1) await work(story)
  expect(await results(story)).toEqual(['CaseHumanReviewEnded'])
})

test('the result is recorded once by two workers at once', async () => {
  const story = await endedTask(2)
  const store = interrupted(world.store, 'case', async () => {
    await work(story, { ...deps, store: world.otherStore })
  })
  await work(story, { ...deps, store })
  expect(await results(story)).toEqual(['CaseDiagnosisSuperseded', 'CaseDiagnosisRecorded', 'CaseHumanReviewEnded'])
})

test('the result waits for the findings of the AI', async () => {
  const story = await endedTask(2, 'decided', false)
  expect(await work(story)).toMatchObject({ kind: 'retry', reason: 'findings_not_recorded' })
  expect(await results(story)).toEqual([])
})
