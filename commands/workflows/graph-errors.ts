import type { MemberError } from '../../platform/http/problems.ts'
import { isCollecting, type WorkflowStep } from '../../streams/workflow-definition/steps.ts'

export interface GivenDefinition {
  readonly startStepId: string
  readonly steps: readonly WorkflowStep[]
}

type StepsById = ReadonlyMap<string, WorkflowStep>

/** Errors of a graph whose references all lead to steps. No walk is recursive. */
export function graphErrors({ startStepId, steps }: GivenDefinition, stepsById: StepsById): readonly MemberError[] {
  const reached = reachableFrom([startStepId], stepsById)
  const withImages = reachableFrom(
    steps.filter(({ kind }) => kind === 'collect-images').map(({ step_id: stepId }) => stepId),
    stepsById,
  )
  const own = steps.flatMap((step, index) => {
    const errors: MemberError[] = []
    if (!reached.has(step.step_id))
      errors.push({ pointer: `/steps/${index}`, detail: 'cannot be reached from the start', code: 'unreachable-step' })
    if (step.kind === 'output' && step.config.effect !== undefined && !withImages.has(step.step_id))
      errors.push({
        pointer: `/steps/${index}/config/effect`,
        detail: 'needs an earlier step that collects images',
        code: 'images-missing',
      })
    return errors
  })
  return [...own, ...endlessBranches(steps, stepsById)]
}

function reachableFrom(stepIds: readonly string[], stepsById: StepsById): ReadonlySet<string> {
  const reached = new Set(stepIds)
  // The loop also visits the steps that it adds: a set iterates in the order of insertion.
  for (const stepId of reached) {
    for (const { step_id: next } of stepsById.get(stepId)?.next ?? []) reached.add(next)
  }
  return reached
}

/** Branches that close a cycle of steps of which none waits. Such a cycle would run for ever. */
function endlessBranches(steps: readonly WorkflowStep[], stepsById: StepsById): MemberError[] {
  const indexes = new Map(steps.map(({ step_id: stepId }, index) => [stepId, index]))
  const left = new Set<string>()
  const errors: MemberError[] = []
  for (const { step_id: root } of steps) {
    // The way from the root to the current step, with the next branch of each step on it.
    const way: { readonly stepId: string; branch: number }[] = []
    const onWay = new Set<string>()
    const enter = (stepId: string): void => {
      const step = stepsById.get(stepId)
      if (step === undefined || isCollecting(step) || left.has(stepId)) return
      way.push({ stepId, branch: 0 })
      onWay.add(stepId)
    }
    enter(root)
    for (let place = way.at(-1); place !== undefined; place = way.at(-1)) {
      const { stepId, branch } = place
      const next = stepsById.get(stepId)?.next[branch]
      place.branch += 1
      if (next === undefined) {
        way.pop()
        onWay.delete(stepId)
        left.add(stepId)
      } else if (onWay.has(next.step_id)) {
        errors.push({
          pointer: `/steps/${indexes.get(stepId)}/next/${branch}/step_id`,
          detail: 'closes a cycle in which no step waits for the client',
          code: 'endless-cycle',
        })
      } else {
        enter(next.step_id)
      }
    }
  }
  return errors
}
