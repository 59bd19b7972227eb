import type { TenantId } from '../../platform/kit/tenants.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { assessmentChannelStream } from '../../streams/channels/assessment.ts'
import { clinicalChannelStream } from '../../streams/channels/clinical.ts'
import { workflowDefinitions } from '../../streams/workflow-definition/aggregate.ts'
import { workflowInstances } from '../../streams/workflow-instance/aggregate.ts'
import type { WorkflowInstanceEvent } from '../../streams/workflow-instance/events.ts'
import { assessmentPublicFact, clinicalPublicFact } from '../../test/streams/channel-facts.ts'
import { caseFact } from '../../test/streams/facts.ts'
import { definitionFact, instanceFact } from '../../test/streams/workflow-facts.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { Act } from './clinical-acts.ts'
import type { Patient, Story } from './story.ts'

interface Run {
  readonly story: Story
  readonly random: SeededRandom
  readonly text: string
  readonly patient: Patient
  readonly workflowInstanceId: string
  readonly caseId: string
}

/** A case that starts an instance of a new definition. The instance stops somewhere, or ends in one of its ways. */
export const runWorkflow: Act = (story, random, text) => {
  if (story.patients.length === 0) return
  const patient = random.pick(story.patients)
  const run = { story, random, text, patient, workflowInstanceId: story.id(random), caseId: story.id(random) }
  const workflowDefinitionId = story.id(random)
  for (const version of random.oneIn(3) ? [1, 2] : [1]) publish(run, workflowDefinitionId, version)
  open(run, workflowDefinitionId)
  if (random.oneIn(6)) return
  append(
    run,
    instanceFact('WorkflowInstanceStarted', {
      workflowInstanceId: run.workflowInstanceId,
      organisationId: patient.orgId,
      workflowDefinitionId,
      caseId: run.caseId,
      patientId: patient.id,
      startedAt: story.instant(random),
    }),
    instanceFact('WorkflowStepParked', { workflowInstanceId: run.workflowInstanceId, parkedAt: story.instant(random) }),
  )
  random.pick([wait, wait, cancel, close, fail, produce, assess, assess])(run)
}

function publish(
  { story, random, text, patient: { orgId } }: Run,
  workflowDefinitionId: string,
  version: number,
): void {
  const fact = definitionFact('WorkflowDefinitionPublished', {
    workflowDefinitionId,
    organisationId: orgId,
    name: text,
    version,
    publishedAt: story.instant(random),
  })
  story.append(orgId, workflowDefinitions.of(orgId, workflowDefinitionId).stream, fact)
}

function open({ story, random, text, patient, workflowInstanceId, caseId }: Run, workflowDefinitionId: string): void {
  const { orgId, readsAsNull } = patient
  const phi = readsAsNull
    ? { externalReference: null, clinicalContext: null }
    : { externalReference: text, clinicalContext: { [text]: text } }
  const openedAt = story.instant(random)
  const workflow = { workflowInstanceId, workflowDefinitionId, definitionVersion: 1 }
  const of = { caseId, organisationId: orgId, patientId: patient.id, assessmentId: null, workflow, openedAt, ...phi }
  story.append(orgId, cases.of(orgId, caseId).stream, caseFact('CaseOpened', of))
  const fact = clinicalPublicFact('clinical.case.opened', {
    org_id: orgId,
    case_id: caseId,
    workflow_instance_id: workflowInstanceId,
    workflow_definition_id: workflowDefinitionId,
    workflow_definition_version: 1,
    opened_at: openedAt,
  })
  story.append(orgId, clinicalChannelStream.name, fact)
}

function append({ story, patient: { orgId }, workflowInstanceId }: Run, ...events: WorkflowInstanceEvent[]): void {
  story.append(orgId, workflowInstances.of(orgId, workflowInstanceId).stream, ...events)
}

/** It waits at its second step, and the output of the first one comes again. */
function wait(run: Run): void {
  const { story, random, workflowInstanceId } = run
  if (random.oneIn(2)) return
  append(
    run,
    advanced(run),
    instanceFact('WorkflowStepParked', { workflowInstanceId, stepId: 'photos', parkedAt: story.instant(random) }),
    instanceFact('WorkflowAdvanceUnneeded', { workflowInstanceId, decidedAt: story.instant(random) }),
  )
}

function cancel(run: Run, reason: 'requested' | 'case_closed' = 'requested'): void {
  const { story, random, workflowInstanceId } = run
  const cancelledAt = story.instant(random)
  append(run, instanceFact('WorkflowInstanceCancelled', { workflowInstanceId, reason, cancelledAt }))
}

function close(run: Run): void {
  const { story, random, patient, caseId } = run
  const { orgId } = patient
  const closedAt = story.instant(random)
  const fact = caseFact('CaseClosed', { caseId, patientId: patient.id, closedAt })
  story.append(orgId, cases.of(orgId, caseId).stream, fact)
  const closed = clinicalPublicFact('clinical.case.closed', { org_id: orgId, case_id: caseId, closed_at: closedAt })
  story.append(orgId, clinicalChannelStream.name, closed)
  if (random.oneIn(2)) cancel(run, 'case_closed')
}

/** The output of the first step. Null in the story of an erased patient, if there is no codec. */
function advanced({ story, random, text, patient, workflowInstanceId }: Run): WorkflowInstanceEvent {
  const output = patient.readsAsNull ? null : { answers: { note: text } }
  const at = { advancedAt: story.instant(random) }
  return instanceFact('WorkflowStepAdvanced', { workflowInstanceId, patientId: patient.id, output, ...at })
}

function produced({ story, random, text, patient, workflowInstanceId }: Run): WorkflowInstanceEvent {
  const values = patient.readsAsNull ? null : { note: text }
  const at = { producedAt: story.instant(random) }
  return instanceFact('WorkflowOutputProduced', { workflowInstanceId, patientId: patient.id, values, ...at })
}

function failed({ story, random, workflowInstanceId }: Run, code: 'no-next-step' | 'assessment-failed') {
  return instanceFact('WorkflowInstanceFailed', { workflowInstanceId, code, failedAt: story.instant(random) })
}

function completed({ story, random, workflowInstanceId }: Run) {
  return instanceFact('WorkflowInstanceCompleted', { workflowInstanceId, completedAt: story.instant(random) })
}

function fail(run: Run): void {
  append(run, advanced(run), failed(run, 'no-next-step'))
}

function produce(run: Run): void {
  append(run, advanced(run), produced(run), completed(run))
}

/** The assessment of the output step. Its own events are those of other acts. */
function assess(run: Run): void {
  const { story, random, patient, workflowInstanceId, caseId } = run
  const { orgId } = patient
  const assessmentId = story.id(random)
  const requestedAt = story.instant(random)
  append(
    run,
    advanced(run),
    produced(run),
    instanceFact('WorkflowAssessmentRequested', { workflowInstanceId, caseId, requestedAt }),
  )
  if (random.oneIn(4)) return
  const assigned = { caseId, assessmentId, workflowInstanceId, assignedAt: story.instant(random) }
  story.append(orgId, cases.of(orgId, caseId).stream, caseFact('CaseAssessmentAssigned', assigned))
  if (random.oneIn(4)) return
  const assignedAt = story.instant(random)
  append(run, instanceFact('WorkflowAssessmentAssigned', { workflowInstanceId, assessmentId, assignedAt }))
  if (random.oneIn(4)) return
  const isCompleted = random.oneIn(2)
  publishEnd(run, orgId, assessmentId, isCompleted)
  if (random.oneIn(4)) return
  append(run, isCompleted ? completed(run) : failed(run, 'assessment-failed'))
}

function publishEnd({ story, random, caseId }: Run, orgId: TenantId, assessmentId: string, isCompleted: boolean): void {
  const of = { org_id: orgId, assessment_id: assessmentId, case_id: caseId, ended_at: story.instant(random) }
  const fact = isCompleted
    ? assessmentPublicFact('assessment.completed', of)
    : assessmentPublicFact('assessment.failed', of)
  story.append(orgId, assessmentChannelStream.name, fact)
}
