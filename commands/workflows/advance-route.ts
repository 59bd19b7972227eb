import { WorkflowInstanceRecord } from '../../contracts/workflows/instance.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import { requireMatch } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { workflowsProjector } from '../../projections/workflows/workflows.projector.ts'
import { isCollecting } from '../../streams/workflow-definition/steps.ts'
import {
  workflowInstances,
  type ExistingInstance,
  type WorkflowInstanceState,
} from '../../streams/workflow-instance/aggregate.ts'
import type { WorkflowInstanceEvent } from '../../streams/workflow-instance/events.ts'
import { requireLivingPatient } from '../clinical/require-patient.ts'
import { changed } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { isRefusal } from '../../engine/commands/decision.ts'
import { execute, existing, loadExisting } from '../../engine/commands/execute.ts'
import type { AnsweredDecision } from '../../engine/commands/refusals.ts'
import { advanceInstance, isKnownAdvance } from './advance-instance.ts'
import { AdvanceInstanceBody } from './bodies.ts'
import { definitionAt } from './definitions.ts'
import { receivedImages } from './images-of-case.ts'
import { imageIdsIn, imageIdsToRead, outputErrors } from './output-errors.ts'
import { instanceRecordOf } from './views.ts'

export function advanceRoute(app: ServiceApp, deps: CommandDependencies): void {
  const { store } = deps

  commandRoute(app, deps, {
    method: 'POST',
    path: '/workflow-instances/:id/advance',
    operationId: 'advanceWorkflowInstance',
    summary: 'Supply the output of the step that the instance waits at',
    description:
      'The instance then moves on to the next step that waits, or to its end. The latest output of an earlier step again changes nothing. The answer contains the record.',
    access: { scopes: ['orchestrator:write'] },
    body: AdvanceInstanceBody,
    hasEtag: true,
    ifMatch: 'record',
    reply: changed(WorkflowInstanceRecord),
    shows: (_, { patientId }) => ({ patientId }),
    readBy: [workflowsProjector],
    problems: ['step-not-parked', 'workflow-instance-not-parked', 'product-required', 'subject-erased'],
    refusals: { 'output-invalid': { code: 'validation-failed' } },
    handle: async ({ tenant, caller, params, body, keyed: { causing }, now, context, answering, request }) => {
      const target = workflowInstances.of(tenant, params.id)
      const known = await knownInstance(tenant, params.id)
      const { workflowDefinitionId, definitionVersion, caseId } = known
      const definition = await definitionAt(store, tenant, workflowDefinitionId, definitionVersion)
      const step = definition.stepsById.get(body.step_id)
      if (step === undefined) throw invalidMember('/step_id', 'is not a step of the definition', 'unknown-step')

      const output = withLowerCaseIds(body.output)
      const images = await receivedImages(store, tenant, caseId, imageIdsToRead(step, output))
      const errors = isCollecting(step) ? outputErrors(step, output, images) : []
      const command = {
        definition,
        stepId: step.step_id,
        output,
        isValid: errors.length === 0,
        productId: caller.productId,
        request: causing,
        now,
      }
      let isAdvance = false
      const decide = (state: WorkflowInstanceState): AnsweredDecision<WorkflowInstanceEvent> => {
        const decision = advanceInstance(command, state)
        isAdvance = !isRefusal(decision) && decision.some(({ type }) => type === 'WorkflowStepAdvanced')
        if (!isRefusal(decision)) return decision
        if (decision.refused === 'output-invalid') return { refused: 'validation-failed' as const, details: { errors } }
        if (decision.refused === 'step-not-parked' && state.status === 'parked')
          return { refused: decision.refused, details: { extensions: { parked_step_id: state.stepId } } }
        return answering(decision)
      }
      await requireLivingPatient(deps, tenant, known.patientId)
      const done = await execute(store, target, decide, context, (revision) => {
        if (isAdvance) requireMatch(request, revision)
      })
      const state = existing(done.state)
      const isReplayed = done.events.length === 0 && isKnownAdvance(causing, state)
      return { ...done, record: instanceRecordOf(state, definition), patientId: state.patientId, isReplayed }
    },
  })

  /** Definition, case and patient of an instance never change, so cached state is enough. */
  async function knownInstance(tenant: TenantId, instanceId: string): Promise<ExistingInstance> {
    const state = await loadExisting(store, workflowInstances.of(tenant, instanceId))
    if (state.status === 'absent') throw problem('not-found')
    return state
  }
}

/** Ids of images are stored and compared in lower case. */
function withLowerCaseIds(output: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const ids = imageIdsIn(output)
  return ids.length === 0 ? output : { ...output, image_ids: ids.map((id) => id.toLowerCase()) }
}
