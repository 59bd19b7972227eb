import { closeUploads as decideClose } from '../../commands/assessments/expire-assessment.ts'
import { openAssessmentCase } from '../../commands/assessments/open-assessment-case.ts'
import { removeUploads } from '../../commands/assessments/uploads.ts'
import { requestReview } from '../../commands/assessments/request-review.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { execute, loadSufficient } from '../../engine/commands/execute.ts'
import { assessments, type ProcessingAssessment } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import type { Todo } from '../../engine/processes/define-process.ts'

/** Opens the case, unless the route has done so. */
export const openCase: ProcessStep = async (todo, deps) => {
  // The append to the case does not check whether the assessment has ended meanwhile.
  const { state } = await deps.store.load(assessments.of(todo.orgId, todo.key))
  if (state.status !== 'processing') return { kind: 'done' }
  return { kind: 'done', position: await openAssessmentCase(deps, state, todo.command('assessments.open-case')) }
}

/** Opens the case and requests its review, after an older version of the route that died before. */
export const askForReview: ProcessStep = async (todo, deps) => {
  const state = await openMissingCase(todo, deps)
  if (state === undefined) return { kind: 'done' }
  const target = assessments.of(todo.orgId, todo.key)
  const context = todo.command('assessments.request-review')
  const command = { isCaseOpen: true, now: new Date(state.submittedAt) }
  return appends(deps.store, target, (current) => requestReview(command, current), context)
}

/** Opens the case of an assessment, if it is not open. Returns the assessment; undefined if it has ended. */
export async function openMissingCase(
  todo: Todo,
  deps: Pick<ProcessDependencies, 'store'>,
): Promise<ProcessingAssessment | undefined> {
  const target = assessments.of(todo.orgId, todo.key)
  const state = await loadSufficient(deps.store, target, ({ status }) => status === 'processing')
  if (state.status !== 'processing') return undefined
  const { state: opened } = await deps.store.loadCached(cases.of(state.organisationId, state.caseId))
  if (opened.status !== 'absent') return state
  // The append to the case does not check whether the assessment has ended meanwhile.
  const { state: current } = await deps.store.load(target)
  if (current.status !== 'processing') return undefined
  await openAssessmentCase(deps, current, todo.command('assessments.open-case'))
  return current
}

/** Ends an assessment whose uploads were not submitted in time. */
export const closeUploads: ProcessStep = async (todo, deps, step) => {
  const command = { now: step.now() }
  const target = assessments.of(todo.orgId, todo.key)
  const context = todo.command('assessments.close-uploads')
  const { state, position } = await execute(deps.store, target, (current) => decideClose(command, current), context)
  if (state.status === 'failed') await removeUploads(deps.objects, state)
  return { kind: 'done', position }
}
