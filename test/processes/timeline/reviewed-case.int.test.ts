import { expect, it } from 'vitest'
import { isRefusal } from '../../../engine/commands/decision.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { decideTask } from '../../../commands/human-review/opinions.ts'
import { claimTask } from '../../../commands/human-review/tasks.ts'
import { getCase, listDiagnoses } from '../../../read-api/clinical/queries.ts'
import { readModels } from '../../../projections/registry.ts'
import { humanReviewPolicies } from '../../../streams/human-review-policy/aggregate.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { clinicians, policyFact, rule } from '../../streams/human-review-facts.ts'
import { reviewOf, submitAnalysis, type Analysis } from './analyses.ts'
import { givenTimeline } from './given-timeline.ts'

const given = givenTimeline()

const reads = () => ({ pool: given.timeline.pool, vault: given.world.vault })

async function statusOf({ caseId }: Analysis): Promise<string> {
  return (await getCase(reads(), given.world.orgId, caseId)).status
}

/** Source and status of each diagnosis, oldest first. */
async function diagnosesOf({ caseId }: Analysis): Promise<string[]> {
  const { rows: diagnoses } = await listDiagnoses(reads(), given.world.orgId, caseId, {
    after: null,
    limit: 50,
  })
  return diagnoses.map(({ source, status }) => `${source} ${status}`)
}

it('a case is in review from the end of its AI review until the decision is recorded in it', async () => {
  await given.open({ readModels })
  const { world, timeline } = given
  const { store, orgId, now } = world
  const policy = policyFact('HumanReviewPolicySet', { organisationId: orgId, rules: [rule({ always: true })] })
  await store.append(humanReviewPolicies.of(orgId), 'no_stream', [policy], contextOf(world))
  const analysis = await submitAnalysis(world)
  await timeline.runOut(600)
  expect(await statusOf(analysis)).toBe('in_review')
  const found = await diagnosesOf(analysis)
  expect(new Set(found)).toEqual(new Set(['ai active']))

  const { id } = await reviewOf(given, analysis)
  const task = humanReviewTasks.of(orgId, humanReviewTaskId(id))
  const [userId, request] = [clinicians.ada, null]
  const claim = { userId, request, leaseSeconds: 60, now: now() }
  const claimed = await execute(store, task, (state) => claimTask(claim, state), contextOf(world))
  if (claimed.state.status !== 'claimed') throw new Error('the task is not claimed')
  const codes = { icd10: { code: 'C44.9', term: 'Malignant neoplasm of skin' }, snomed: null, category: 'MALIGNANT' }
  const lesions = claimed.state.lesions.map(({ lesionNumber }) => ({
    lesionNumber,
    outcome: 'correct' as const,
    ...codes,
  }))
  const decision = { userId, request, lesions, recommendation: 'refer' as const, note: null, now: now() }
  const decided = decideTask(decision, claimed.state)
  if (isRefusal(decided)) throw new Error(decided.refused)
  await store.append(task, claimed.revision, decided, contextOf(world))
  await timeline.runUntilIdle()
  expect(await statusOf(analysis)).toBe('open')
  const corrected = found.map(() => ['ai superseded', 'clinician active']).flat()
  expect((await diagnosesOf(analysis)).toSorted()).toEqual(corrected.toSorted())
})
