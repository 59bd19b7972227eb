import { Type, type Static } from 'typebox'
import { v5 } from 'uuid'
import { assignAssessment, type AssignAssessment } from '../../commands/clinical/close-case.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { execute } from '../../engine/commands/execute.ts'
import { isRefusal } from '../../engine/commands/decision.ts'
import { definitionAt } from '../../commands/workflows/definitions.ts'
import { cancelWithCase, followAssessment } from '../../commands/workflows/end-instance.ts'
import { startInstance } from '../../commands/workflows/start-instance.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases, type CaseState } from '../../streams/case/aggregate.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { workflowInstances } from '../../streams/workflow-instance/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'
import type { Todo } from '../../engine/processes/define-process.ts'

/** The case that starts the instance, and the version of its definition. */
export const StartPayload = Type.Object({
  caseId: Type.String(),
  workflowDefinitionId: Type.String(),
  version: Type.Integer(),
})

/** Starts the instance whose id was minted with the case. */
export const start: ProcessStep<Static<typeof StartPayload>> = async (todo, deps) => {
  const { store } = deps
  const { orgId, key: workflowInstanceId, payload } = todo
  const { caseId, workflowDefinitionId, version } = payload
  const { state: opened } = await store.loadCached(cases.of(orgId, caseId))
  if (opened.status === 'absent') throw new Error('the case of a workflow instance has no stream')
  const { patientId, productId } = opened
  const definition = await definitionAt(store, orgId, workflowDefinitionId, version)
  const ids = { workflowInstanceId, organisationId: orgId, caseId, patientId, productId }
  const command = { ...ids, definition, fingerprint: null, now: todo.dueAt }
  return appends(
    store,
    { ...workflowInstances.of(orgId, workflowInstanceId), isNew: true },
    (state) => {
      if (state.status !== 'absent') return []
      const decision = startInstance(command, state)
      // Nothing is collected yet, so no effect can need a product.
      if (isRefusal(decision)) throw new Error('the start of an instance was refused')
      return decision
    },
    todo.command('workflows.start'),
  )
}

/**
 * Brings the assessment of an output step to the instance, and the end of that assessment. The case decides which
 * assessment it is. `docs/decisions/0025-the-case-decides-about-its-assessment.md` lists what each crash leaves.
 */
export const follow: ProcessStep = async (todo, { store }) => {
  const { orgId, key, dueAt: now } = todo
  const target = workflowInstances.of(orgId, key)
  const { state: instance } = await store.load(target)
  if (instance.status !== 'running' || instance.effect === null) return { kind: 'done' }

  const { caseId, effect, workflowInstanceId } = instance
  const { productId, findingType, imageIds } = effect
  const assessmentId = v5('assessment', workflowInstanceId)
  const assigned = { caseId, assessmentId, workflowInstanceId, productId, findingType, imageIds, now }
  const ofCase = await assignToCase(todo, store, assigned)
  if (ofCase.status === 'absent' || ofCase.assessmentId === null) return { kind: 'done' }

  // Read after the instance awaits it. So an end that is missing here makes a row of its own.
  const { state: assessment } = await store.load(assessments.of(orgId, ofCase.assessmentId))
  const end = assessment.status === 'completed' || assessment.status === 'failed' ? assessment.status : null
  const command = { assessmentId: ofCase.assessmentId, end, now }
  // The end of one assessment is the cause of several rows, one for each instance of the case. A repeat of `assign` may
  // find that the assessment has ended, and then appends another event. So that one needs another id.
  const name = end === null ? 'workflows.follow-assessment' : 'workflows.follow-assessment.ended'
  const context = todo.command(name, key)
  return appends(store, target, (state) => followAssessment(command, state), context)
}

/** The state of the case afterwards. Without an assessment it was closed meanwhile. Its instances are being cancelled. */
async function assignToCase(todo: Todo, store: EventStore, assigned: AssignAssessment): Promise<CaseState> {
  const target = cases.of(todo.orgId, assigned.caseId)
  const { state: before } = await store.load(target)
  if (before.status !== 'absent' && before.assessmentId !== null) return before
  const decide = (state: CaseState) => {
    const decision = assignAssessment(assigned, state)
    return isRefusal(decision) ? [] : decision
  }
  const { state } = await execute(store, target, decide, todo.command('workflows.assign-assessment'))
  return state
}

/** The case of the instance was closed. */
export const cancel: ProcessStep = async (todo, { store }) => {
  const target = workflowInstances.of(todo.orgId, todo.key)
  return appends(
    store,
    target,
    (state) => cancelWithCase({ now: todo.dueAt }, state),
    todo.command('workflows.cancel', todo.key),
  )
}
