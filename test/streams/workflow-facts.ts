import type { WorkflowChannelEvent } from '../../streams/channels/workflow.ts'
import type { WorkflowDefinitionEvent } from '../../streams/workflow-definition/events.ts'
import type { WorkflowStep } from '../../streams/workflow-definition/steps.ts'
import type { WorkflowInstanceEvent } from '../../streams/workflow-instance/events.ts'
import { envelope } from './channel-facts.ts'
import { at, factsOf, hash, ids } from './facts.ts'

/** Questions, then images of a lesion that has changed, then an assessment. Otherwise no more than the answers. */
export const lesionSteps: WorkflowStep[] = [
  {
    step_id: 'intake',
    title: 'About the lesion',
    kind: 'collect-questions',
    config: {
      questions: [
        { id: 'age', text: 'How old is the patient?', type: 'number', required: true },
        { id: 'changed', text: 'Has the lesion changed?', type: 'boolean', required: true },
        { id: 'since', text: 'Since when?', type: 'date', required: false },
        { id: 'note', text: 'Anything else?', type: 'text', required: false },
        { id: 'skin', text: 'Skin type', type: 'choice', required: false, options: ['I', 'II', 'III'] },
      ],
    },
    next: [{ step_id: 'is-changed' }],
  },
  {
    step_id: 'is-changed',
    title: 'Has it changed?',
    kind: 'decision',
    config: {},
    next: [
      { when: { op: 'eq', path: 'intake.answers.changed', value: true }, step_id: 'photos' },
      { step_id: 'no-photos' },
    ],
  },
  {
    step_id: 'photos',
    title: 'Photographs',
    kind: 'collect-images',
    config: { min: 1, max: 3, capture_types: ['dermoscopic', 'macroscopic'] },
    next: [{ step_id: 'assessed' }],
  },
  {
    step_id: 'assessed',
    title: 'Assessment',
    kind: 'output',
    config: { values: { age: 'intake.answers.age' }, effect: 'assessment', finding_type: 'patch' },
    next: [],
  },
  {
    step_id: 'no-photos',
    title: 'No assessment',
    kind: 'output',
    config: { values: { age: 'intake.answers.age', note: 'intake.answers.note' } },
    next: [],
  },
]

export const definitionFact = factsOf<WorkflowDefinitionEvent>({
  WorkflowDefinitionPublished: {
    workflowDefinitionId: ids.workflowDefinition,
    organisationId: ids.org,
    name: 'Changed lesion',
    version: 1,
    startStepId: 'intake',
    steps: lesionSteps,
    request: { key: hash('1'), fingerprint: hash('2') },
    publishedAt: at(0),
  },
})

const workflowInstanceId = ids.workflowInstance
const ofPatient = { workflowInstanceId, patientId: ids.patient }

export const instanceFact = factsOf<WorkflowInstanceEvent>({
  WorkflowInstanceStarted: {
    workflowInstanceId,
    organisationId: ids.org,
    workflowDefinitionId: ids.workflowDefinition,
    definitionVersion: 1,
    caseId: ids.case,
    patientId: ids.patient,
    productId: ids.product,
    fingerprint: hash('f'),
    startedAt: at(1),
  },
  WorkflowStepParked: { workflowInstanceId, stepId: 'intake', kind: 'collect-questions', passed: [], parkedAt: at(1) },
  WorkflowStepAdvanced: {
    ...ofPatient,
    stepId: 'intake',
    output: { answers: { note: 'canary-answer' } },
    request: null,
    advancedAt: at(2),
  },
  WorkflowAdvanceUnneeded: {
    workflowInstanceId,
    stepId: 'intake',
    request: { key: hash('a'), fingerprint: hash('b') },
    decidedAt: at(2),
  },
  WorkflowOutputProduced: {
    ...ofPatient,
    stepId: 'assessed',
    passed: [],
    values: { note: 'canary-value' },
    producedAt: at(3),
  },
  WorkflowAssessmentRequested: {
    workflowInstanceId,
    caseId: ids.case,
    stepId: 'assessed',
    productId: ids.product,
    findingType: 'patch',
    imageIds: [ids.image],
    requestedAt: at(3),
  },
  WorkflowAssessmentAssigned: { workflowInstanceId, assessmentId: ids.assessment, assignedAt: at(4) },
  WorkflowInstanceCompleted: { workflowInstanceId, stepId: 'assessed', completedAt: at(20) },
  WorkflowInstanceFailed: {
    workflowInstanceId,
    stepId: 'is-changed',
    passed: ['is-changed'],
    code: 'no-next-step',
    failedAt: at(3),
  },
  WorkflowInstanceCancelled: { workflowInstanceId, reason: 'requested', request: null, cancelledAt: at(5) },
})

const instance = {
  org_id: ids.org,
  workflow_instance_id: workflowInstanceId,
  workflow_definition_id: ids.workflowDefinition,
  definition_version: 1,
  case_id: ids.case,
}

/** The events of the workflow channel. */
export const workflowPublicFact = factsOf<WorkflowChannelEvent>({
  'workflow.instance.started': { ...instance, state: 'running', ...envelope('workflow.instance.started', 1) },
  'workflow.instance.parked': {
    ...instance,
    state: 'parked',
    step_id: 'intake',
    ...envelope('workflow.instance.parked', 1),
  },
  'workflow.instance.completed': {
    ...instance,
    state: 'completed',
    step_id: 'assessed',
    ...envelope('workflow.instance.completed', 20),
  },
  'workflow.instance.failed': {
    ...instance,
    state: 'failed',
    step_id: 'is-changed',
    error_code: 'no-next-step',
    ...envelope('workflow.instance.failed', 3),
  },
  'workflow.instance.cancelled': { ...instance, state: 'cancelled', ...envelope('workflow.instance.cancelled', 5) },
})
