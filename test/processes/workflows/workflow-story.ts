import { randomUUID } from 'node:crypto'
import { v5 } from 'uuid'
import { definitionIdOf } from '../../../commands/workflows/definitions.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { assessmentChannel } from '../../../processes/assessments/assessments.channel.ts'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import { clinicalChannel } from '../../../processes/clinical/clinical.channel.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import type { Channel } from '../../../engine/relay/channel.ts'
import type { Process, TodoRow } from '../../../engine/processes/process.ts'
import { workflowsProcess } from '../../../processes/workflows/workflows.process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { images } from '../../../streams/image/aggregate.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import { workflowDefinitions } from '../../../streams/workflow-definition/aggregate.ts'
import { workflowInstances } from '../../../streams/workflow-instance/aggregate.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { assessmentFact, caseFact, ids } from '../../streams/facts.ts'
import { imageFact } from '../../streams/image-facts.ts'
import { definitionFact, instanceFact } from '../../streams/workflow-facts.ts'
import { todosAfter, whenWorkedOff } from '../../support/given-process.ts'
import { processDependencies } from '../../support/process-world.ts'

export interface WorkflowWorld extends DecisionWorld {
  readonly deps: ProcessDependencies
  /** Of another process, with its own cache. */
  readonly others: ProcessDependencies
  readonly definitionId: string
}

export async function openWorkflowWorld(): Promise<WorkflowWorld> {
  const world = await openDecisionWorld()
  const egress: Egress = createEgress({ configuration: world.configuration })
  const { orgId, store } = world
  const definitionId = definitionIdOf(orgId, 'Changed lesion')
  const published = definitionFact('WorkflowDefinitionPublished', {
    workflowDefinitionId: definitionId,
    organisationId: orgId,
  })
  await store.append(workflowDefinitions.of(orgId, definitionId), 'no_stream', [published], contextOf(world))
  return {
    ...world,
    deps: processDependencies(world, egress),
    others: processDependencies({ ...world, store: world.otherStore }, egress),
    definitionId,
    close: async () => {
      await egress.close()
      await world.close()
    },
  }
}

/** A case with instances, and an image of it. */
export interface WorkflowStory {
  readonly caseId: string
  readonly imageId: string
  readonly instanceIds: readonly string[]
}

/** A case that starts its first instance. */
export async function openedCase(world: WorkflowWorld): Promise<WorkflowStory> {
  const [caseId, imageId, workflowInstanceId] = [randomUUID(), randomUUID(), randomUUID()]
  const { orgId, store, definitionId } = world
  const workflow = { workflowInstanceId, workflowDefinitionId: definitionId, definitionVersion: 1 }
  const opened = caseFact('CaseOpened', { caseId, organisationId: orgId, assessmentId: null, workflow })
  await store.append(cases.of(orgId, caseId), 'no_stream', [opened], contextOf(world))
  const declared = imageFact('ImageDeclared', { imageId, organisationId: orgId, caseId })
  const received = imageFact('ImageReceived', { imageId })
  await store.append(images.of(orgId, imageId), 'no_stream', [declared, received], contextOf(world))
  return { caseId, imageId, instanceIds: [workflowInstanceId] }
}

/** An instance on the case that awaits its assessment. */
export async function awaitingAssessment(world: WorkflowWorld, story: WorkflowStory): Promise<WorkflowStory> {
  const { orgId, store, definitionId } = world
  const { caseId, imageId } = story
  const workflowInstanceId = randomUUID()
  const of = { workflowInstanceId, patientId: ids.patient }
  const events = [
    instanceFact('WorkflowInstanceStarted', {
      ...of,
      organisationId: orgId,
      workflowDefinitionId: definitionId,
      caseId,
    }),
    instanceFact('WorkflowOutputProduced', of),
    instanceFact('WorkflowAssessmentRequested', { workflowInstanceId, caseId, imageIds: [imageId] }),
  ]
  await store.append(workflowInstances.of(orgId, workflowInstanceId), 'no_stream', events, contextOf(world))
  return { ...story, instanceIds: [...story.instanceIds, workflowInstanceId] }
}

export async function closed(world: WorkflowWorld, { caseId }: WorkflowStory): Promise<void> {
  const target = cases.of(world.orgId, caseId)
  const { revision } = await world.store.load(target)
  await world.store.append(target, revision, [caseFact('CaseClosed', { caseId })], contextOf(world))
}

/** Ends the assessment of the case. */
export async function assessed(
  world: WorkflowWorld,
  story: WorkflowStory,
  type: 'AssessmentCompleted' | 'AssessmentFailed',
): Promise<void> {
  const { assessmentId } = await caseOf(world, story)
  const target = assessments.of(world.orgId, assessmentId ?? '')
  const { revision } = await world.store.load(target)
  const of = { assessmentId: assessmentId ?? '' }
  const fact =
    type === 'AssessmentCompleted' ? assessmentFact('AssessmentCompleted', of) : assessmentFact('AssessmentFailed', of)
  await world.store.append(target, revision, [fact], contextOf(world))
}

/** The caller cancels the newest instance. */
export async function cancelled(world: WorkflowWorld, { instanceIds }: WorkflowStory): Promise<void> {
  const workflowInstanceId = instanceIds.at(-1) ?? ''
  const target = workflowInstances.of(world.orgId, workflowInstanceId)
  const { revision } = await world.store.load(target)
  const fact = instanceFact('WorkflowInstanceCancelled', { workflowInstanceId })
  await world.store.append(target, revision, [fact], contextOf(world))
}

export async function caseOf({ otherStore, orgId }: WorkflowWorld, { caseId }: WorkflowStory) {
  const { state } = await otherStore.load(cases.of(orgId, caseId))
  if (state.status === 'absent') throw new Error('the story has no case')
  return state
}

/** The types in the stream of each instance, after its start. */
export async function instanceEvents(world: WorkflowWorld, { instanceIds }: WorkflowStory): Promise<string[][]> {
  const all = instanceIds.map((id) => eventsOf(world, workflowInstances.of(world.orgId, id).stream))
  return (await Promise.all(all)).map((events) => events.map(({ type }) => type))
}

/** The ids of all events of the instances. */
export async function eventIdsOf(world: WorkflowWorld, { instanceIds }: WorkflowStory): Promise<string[]> {
  const all = instanceIds.map((id) => eventsOf(world, workflowInstances.of(world.orgId, id).stream))
  return (await Promise.all(all)).flatMap((events) => events.map(({ id }) => id))
}

async function eventsOf({ otherStore }: WorkflowWorld, stream: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of otherStore.readStream(stream)) events.push(event)
  return events
}

/** All events of the story in their order, each followed by its public events. */
async function logOf(world: WorkflowWorld, story: WorkflowStory): Promise<RecordedEvent[]> {
  const { orgId } = world
  const { assessmentId } = await caseOf(world, story)
  const streams = [
    cases.of(orgId, story.caseId).stream,
    ...story.instanceIds.map((id) => workflowInstances.of(orgId, id).stream),
    ...(assessmentId === null ? [] : [assessments.of(orgId, assessmentId).stream]),
  ]
  const events = (await Promise.all(streams.map((stream) => eventsOf(world, stream)))).flat()
  const ordered = events.toSorted((one, other) => Number(one.position.commit - other.position.commit))
  const log: RecordedEvent[] = []
  for (const event of ordered) {
    log.push(event)
    for (const channel of [clinicalChannel, assessmentChannel]) log.push(...(await publishedBy(channel, event, world)))
  }
  return log
}

async function publishedBy(
  { stream, translate }: Channel<Pick<WorkflowWorld, 'store'>>,
  event: RecordedEvent,
  { orgId, otherStore }: WorkflowWorld,
): Promise<RecordedEvent[]> {
  const published = (await translate[event.type]?.(event, { store: otherStore })) ?? []
  return published.map(({ type, data }) => ({
    ...event,
    id: v5(type, event.id),
    stream,
    type,
    data: { ...data, org_id: orgId },
  }))
}

export interface Due {
  readonly process: Process<ProcessDependencies>
  readonly todo: TodoRow
}

/** What is due about the story. The review of an assessment is not part of it. */
export async function dueOf(world: WorkflowWorld, story: WorkflowStory): Promise<Due[]> {
  const log = await logOf(world, story)
  return [workflowsProcess, assessmentsProcess].flatMap((process) =>
    todosAfter(process, log)
      .filter(({ step }) => process === workflowsProcess || step === 'create-collected')
      .map((todo) => ({ process, todo })),
  )
}

const mostRounds = 10

/** Works off both lists, until nothing is left. */
export async function workOffStory(
  world: WorkflowWorld,
  story: WorkflowStory,
  deps: ProcessDependencies = world.others,
): Promise<void> {
  for (let round = 1; round <= mostRounds; round += 1) {
    const due = await dueOf(world, story)
    if (due.length === 0) return
    for (const { process, todo } of due) await whenWorkedOff(process, todo, deps, world.now())
  }
  throw new Error(`rows that never end: ${JSON.stringify(await dueOf(world, story))}`)
}
