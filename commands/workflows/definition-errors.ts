import { mostReported } from '../../platform/http/errors.ts'
import type { MemberError } from '../../platform/http/problems.ts'
import { workflowNamePattern, type Question, type WorkflowStep } from '../../streams/workflow-definition/steps.ts'
import { reportConditionErrors, reportUnknownPath, targetOf } from './condition-errors.ts'
import { graphErrors, type GivenDefinition } from './graph-errors.ts'

type StepsById = ReadonlyMap<string, WorkflowStep>
type Report = (error: MemberError) => void

/**
 * Errors of a definition that its schema cannot express. The time is linear in the size of the definition. The graph is
 * examined only if every reference leads to a step.
 */
export function definitionErrors({ startStepId, steps }: GivenDefinition): readonly MemberError[] {
  const errors: MemberError[] = []
  const report: Report = (error) => {
    if (errors.length < mostReported) errors.push(error)
  }
  const stepsById = new Map(steps.map((step) => [step.step_id, step]))

  reportRepeats(
    steps.map(({ step_id: stepId }) => stepId),
    (index) => `/steps/${index}/step_id`,
    report,
  )
  if (!stepsById.has(startStepId))
    report({ pointer: '/start_step_id', detail: 'is not a step of the definition', code: 'unknown-step' })
  for (const [index, step] of steps.entries()) {
    reportConfigErrors(step, `/steps/${index}/config`, stepsById, report)
    reportNextErrors(step, `/steps/${index}/next`, stepsById, report)
  }
  return errors.length > 0 ? errors : graphErrors({ startStepId, steps }, stepsById).slice(0, mostReported)
}

function reportRepeats(ids: readonly string[], pointerOf: (index: number) => string, report: Report): void {
  const seen = new Set<string>()
  for (const [index, id] of ids.entries()) {
    if (seen.has(id)) report({ pointer: pointerOf(index), detail: 'is used twice', code: 'repeated' })
    seen.add(id)
  }
}

function reportConfigErrors(step: WorkflowStep, pointer: string, steps: StepsById, report: Report): void {
  switch (step.kind) {
    case 'collect-questions': {
      const { questions } = step.config
      const ids = questions.map(({ id }) => id)
      reportRepeats(ids, (index) => `${pointer}/questions/${index}/id`, report)
      for (const [index, question] of questions.entries())
        reportOptionErrors(question, `${pointer}/questions/${index}/options`, report)
      return
    }
    case 'collect-images':
      if (step.config.min > step.config.max)
        report({ pointer: `${pointer}/min`, detail: 'must not exceed max', code: 'min-above-max' })
      reportRepeats(step.config.capture_types, (index) => `${pointer}/capture_types/${index}`, report)
      return
    case 'output': {
      const { values, effect, finding_type: findingType } = step.config
      for (const [name, path] of Object.entries(values)) reportValueErrors(name, path, pointer, steps, report)
      if (effect === undefined && findingType !== undefined)
        report({ pointer: `${pointer}/finding_type`, detail: 'needs an effect', code: 'effect-missing' })
      return
    }
    case 'decision':
  }
}

function reportOptionErrors({ type, options }: Question, pointer: string, report: Report): void {
  if ((type === 'choice') === (options === undefined)) {
    const detail = type === 'choice' ? 'is required for a choice' : 'is only allowed for a choice'
    report({ pointer, detail, code: 'options-of-choice' })
  }
  reportRepeats(options ?? [], (index) => `${pointer}/${index}`, report)
}

const nameForm = new RegExp(workflowNamePattern)

function reportValueErrors(name: string, path: string, pointer: string, steps: StepsById, report: Report): void {
  if (!nameForm.test(name)) {
    report({
      pointer: `${pointer}/values`,
      detail: `has a name that does not match ${nameForm.source}`,
      code: 'pattern',
    })
    return
  }
  if (targetOf(path, steps) === undefined) reportUnknownPath(`${pointer}/values/${name}`, report)
}

function reportNextErrors({ kind, next }: WorkflowStep, pointer: string, steps: StepsById, report: Report): void {
  if (kind === 'output' && next.length > 0)
    report({ pointer, detail: 'must be empty: an output ends the instance', code: 'next-of-output' })
  if (kind !== 'output' && next.length === 0)
    report({ pointer, detail: 'must name a step: only an output ends the instance', code: 'dead-end' })
  const last = next.findIndex(({ when }) => when === undefined)
  for (const [index, { when, step_id: stepId }] of next.entries()) {
    const branch = `${pointer}/${index}`
    if (!steps.has(stepId))
      report({ pointer: `${branch}/step_id`, detail: 'is not a step of the definition', code: 'unknown-step' })
    if (last !== -1 && index > last)
      report({
        pointer: branch,
        detail: 'is never taken: a branch without a condition precedes it',
        code: 'never-taken',
      })
    if (when !== undefined) reportConditionErrors(when, `${branch}/when`, steps, report)
  }
}
