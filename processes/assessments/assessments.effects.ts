import { closeUploads } from '../../commands/assessments/expire-assessment.ts'
import { expireAssessment } from '../../commands/assessments/expire-assessment.ts'
import { openAssessmentCase } from '../../commands/assessments/open-assessment-case.ts'
import { removeUploads } from '../../commands/assessments/uploads.ts'
import { requestReview } from '../../commands/assessments/request-review.ts'
import { execute, stateToPlanOn } from '../../commands/handling/execute.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess, type StepContext, type StepOutcome, type Todo } from '../runtime/process.ts'
import { stepCommand } from '../runtime/step-command.ts'
import { orgOf, readCause } from '../runtime/step-identity.ts'
import { assessmentsToDo } from './assessments.process.ts'
import { conclude } from './conclude.steps.ts'

function targetOf(todo: Todo) {
  return assessments.of(orgOf(todo), todo.key)
}

/** Opens the case unless the route has done so, then asks for its review. */
async function askForReview(todo: Todo, deps: ProcessDependencies): Promise<StepOutcome> {
  const target = targetOf(todo)
  const cause = { ...readCause(todo), orgId: orgOf(todo) }
  const state = await stateToPlanOn(deps.store, target, ({ status }) => status === 'processing')
  if (state.status !== 'processing') return { kind: 'done' }
  const { state: opened } = await deps.store.loadCached(cases.of(state.organisationId, state.caseId))
  if (opened.status === 'absent') {
    // This append is the case's: it does not check whether the assessment has ended meanwhile.
    const { state: current } = await deps.store.load(target)
    if (current.status !== 'processing') return { kind: 'done' }
    await openAssessmentCase(deps, current, stepCommand({ name: 'assessments.open-case', ...cause }))
  }
  const context = stepCommand({ name: 'assessments.request-review', ...cause })
  const done = await execute(deps.store, target, (current) => requestReview({ now: todo.dueAt }, current), context)
  return { kind: 'done', position: done.position }
}

async function expire(todo: Todo, deps: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const context = stepCommand({ name: 'assessments.expire', ...readCause(todo), orgId: orgOf(todo) })
  const command = { now: step.now() }
  const done = await execute(deps.store, targetOf(todo), (state) => expireAssessment(command, state), context)
  return { kind: 'done', position: done.position }
}

/** Ends an assessment whose uploads were not submitted in time. */
async function close(todo: Todo, deps: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const context = stepCommand({ name: 'assessments.close-uploads', ...readCause(todo), orgId: orgOf(todo) })
  const command = { now: step.now() }
  const done = await execute(deps.store, targetOf(todo), (state) => closeUploads(command, state), context)
  if (done.state.status === 'failed') await removeUploads(deps.objects, done.state)
  return { kind: 'done', position: done.position }
}

export const assessmentsProcess = defineProcess<ProcessDependencies>({
  name: 'assessments',
  list: assessmentsToDo,
  steps: { 'close-uploads': close, 'request-review': askForReview, conclude, expire },
})
