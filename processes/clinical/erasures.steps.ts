import { completeErasure, endStep, failStep, isOpenStep } from '../../commands/clinical/erase-patient.ts'
import { appends } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import { execute } from '../../engine/commands/execute.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { errorOf } from '../../platform/outbound/error-of.ts'
import { patientErasures, type Erasure } from '../../streams/patient-erasure/aggregate.ts'
import type { ErasureStep } from '../../streams/patient-erasure/events.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'

/** Whom a step erases. */
export interface ErasedPatient {
  readonly orgId: TenantId
  readonly patientId: string
  readonly erasure: Erasure
}

/** `open`: an earlier step is open. Its end makes this one due again. */
type Outcome = Extract<StepOutcome, { kind: 'retry' | 'wait' }> | { readonly kind: 'open' } | undefined

type Work = (patient: ErasedPatient, deps: ProcessDependencies, todo: Todo, context: StepContext) => Promise<Outcome>

type StepRun = (todo: Todo, deps: ProcessDependencies, context: StepContext) => Promise<StepOutcome>

/**
 * One step of an erasure. Its work may be repeated at any time. It ends with an event, or with the code of its failure
 * and another try. Without an outcome of the work the step is done.
 */
export function erasureStep(name: ErasureStep, work: Work): StepRun {
  const place = name.replaceAll('_', '-')
  return async (todo, deps, context) => {
    const { store, failpoint } = deps
    const { orgId } = todo
    const patientId = patientOf(todo)
    const target = patientErasures.of(orgId, patientId)
    const { state } = await store.load(target)
    const { erasure } = state
    if (erasure === undefined || !isOpenStep(state, name)) return { kind: 'done' }
    failpoint(`erasure-before-${place}`)
    let outcome: Outcome
    try {
      outcome = await work({ orgId, patientId, erasure }, deps, todo, context)
    } catch (error) {
      const failed = { patientId, step: name, errorCode: errorOf(error).code ?? 'failed', now: context.now() }
      await execute(store, target, (now) => failStep(failed, now), todo.attempt())
      throw error
    }
    if (outcome?.kind === 'open') return { kind: 'done' }
    if (outcome !== undefined) return outcome
    failpoint(`erasure-after-${place}`)
    const done = { patientId, step: name, now: context.now() }
    return appends(store, target, (now) => endStep(done, now), todo.attempt())
  }
}

export const complete: ProcessStep = async (todo, { store }, context) => {
  const patientId = patientOf(todo)
  const command = { patientId, organisationId: todo.orgId, now: context.now() }
  const target = patientErasures.of(todo.orgId, patientId)
  return appends(store, target, (state) => completeErasure(command, state), todo.attempt())
}

/** The key of a row is `<organisation>/<patient>`. */
function patientOf({ key }: Todo): string {
  return key.slice(key.indexOf('/') + 1)
}
