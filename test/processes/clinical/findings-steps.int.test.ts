import { randomUUID } from 'node:crypto'
import { v5 } from 'uuid'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { at } from '../../../app/demo/members.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { clinicalProcess } from '../../../processes/clinical/clinical.process.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import { stepCommand, type Cause } from '../../../engine/processes/step-identity.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { Lesion } from '../../../streams/ai-review/events.ts'
import type { CaseEvent } from '../../../streams/case/events.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { aiReviewChannelStream } from '../../../streams/channels/ai-review.ts'
import { eventIdOf, type RecordedEvent } from '../../../engine/store/events.ts'
import {
  contextOf,
  interrupted,
  openDecisionWorld,
  watched,
  type DecisionWorld,
} from '../../engine/commands/decision-world.ts'
import { lesion } from '../../streams/ai-review-facts.ts'
import { reviewPublicFact } from '../../streams/channel-facts.ts'
import { assessmentFact, at as instant, caseFact, ids } from '../../streams/facts.ts'
import { lagging } from '../../support/lagging-store.ts'
import { processDependencies, workOff } from '../../support/process-world.ts'
import { KilledError, mortal } from '../users/mortal-process.ts'

let world: DecisionWorld
let egress: Egress
let deps: ProcessDependencies
let otherDeps: ProcessDependencies

beforeAll(async () => {
  world = await openDecisionWorld()
  egress = createEgress({ configuration: world.configuration })
  deps = processDependencies(world, egress)
  otherDeps = { ...deps, store: world.otherStore }
})
afterAll(async () => {
  await egress.close()
  await world.close()
})

const lesions = [lesion, { ...lesion, lesionNumber: 2, category: null }]

type CausedRow = TodoRow & { readonly payload: { readonly cause: Cause; readonly [name: string]: unknown } }

interface Analysed {
  readonly caseId: string
  readonly aiReviewId: string
  readonly record: CausedRow
  readonly supersede: CausedRow
}

/** Both rows of a completed review that is then superseded, for the case of an assessment. */
async function analysed(found: readonly Lesion[] = lesions, hasAssessment = true): Promise<Analysed> {
  const [caseId, aiReviewId, assessmentId] = [randomUUID(), randomUUID(), randomUUID()]
  const { orgId } = world
  if (hasAssessment) {
    const requested = assessmentFact('AssessmentRequested', { assessmentId, organisationId: orgId })
    await world.otherStore.append(assessments.of(orgId, assessmentId), 'no_stream', [requested], contextOf(world))
  }
  const opened = caseFact('CaseOpened', {
    caseId,
    organisationId: orgId,
    assessmentId: hasAssessment ? assessmentId : null,
  })
  await world.otherStore.append(cases.of(orgId, caseId), 'no_stream', [opened], contextOf(world))
  const [eventId, correlationId] = [randomUUID(), randomUUID()]
  const { type, data } = reviewPublicFact('ai_review.completed', {
    aiReviewId,
    caseId,
    orgId,
    lesions: [...found],
    event_id: eventId,
  })
  const before = await world.store.readLast(aiReviewChannelStream.name)
  const metadata = { commandId: randomUUID(), $correlationId: correlationId, $causationId: randomUUID() }
  const { revision } = await world.store.appendRaw(aiReviewChannelStream.name, before?.revision ?? 'no_stream', [
    { id: eventId, type, data, metadata },
  ])
  const row = { key: aiReviewId, orgId }
  const channelRevision = revision.toString()
  const supersededBy = {
    cause: { eventId: randomUUID(), correlationId },
    recording: { channelRevision },
    supersededById: ids.newReview,
  }
  return {
    caseId,
    aiReviewId,
    record: {
      ...row,
      step: 'record-findings',
      dueAt: new Date(instant(18)),
      payload: { cause: { eventId, correlationId }, channelRevision },
    },
    supersede: { ...row, step: 'supersede-diagnoses', dueAt: new Date(instant(20)), payload: supersededBy },
  }
}

const work = (todo: TodoRow, by = deps) => workOff({ now: world.now, deps: by }, clinicalProcess, todo)

async function eventsOf({ caseId }: Analysed): Promise<RecordedEvent<CaseEvent>[]> {
  const events: RecordedEvent<CaseEvent>[] = []
  for await (const event of world.otherStore.readStream<CaseEvent>(cases.of(world.orgId, caseId).stream))
    events.push(event)
  return events.slice(1)
}

const idOf = (name: string, todo: CausedRow, index: number) =>
  eventIdOf(stepCommand({ process: 'clinical', name, ...todo.payload.cause }).commandId, index)
const typesOf = async (review: Analysed) => (await eventsOf(review)).map(({ type }) => type)
const pairs = ['CaseFindingRecorded', 'CaseDiagnosisRecorded', 'CaseFindingRecorded', 'CaseDiagnosisRecorded']
const replaced = ['CaseDiagnosisSuperseded', 'CaseDiagnosisSuperseded']

it('records a finding and a diagnosis for each lesion, once, at the instant that the review completed', async () => {
  const review = await analysed()
  expect(await work(review.record)).toMatchObject({ kind: 'done', position: expect.anything() })
  world.pass(60)
  expect(await work(review.record)).toEqual({ kind: 'done', position: undefined })
  const events = await eventsOf(review)
  expect(events.map(({ type }) => type)).toEqual(pairs)
  const { aiReviewId, caseId } = review
  const findingId = v5('2', aiReviewId)
  expect(events.slice(2).map(({ data }) => data)).toEqual([
    {
      caseId,
      findingId,
      source: 'ai',
      aiReviewId,
      lesionNumber: 2,
      bodySiteId: ids.bodySite,
      coordinates: lesion.coordinates,
      ordinal: 2,
      lesionCount: 2,
      recordedAt: instant(18),
    },
    {
      ...caseFact('CaseDiagnosisRecorded').data,
      caseId,
      findingId,
      diagnosisId: v5('diagnosis', findingId),
      aiReviewId,
      lesionNumber: 2,
      category: null,
    },
  ])
  const cause = review.record.payload.cause
  expect(events.map(({ metadata }) => [metadata.$causationId, metadata.$correlationId])).toEqual(
    events.map(() => [cause.eventId, cause.correlationId]),
  )
})

it('records nothing if the case opens while it looks for the body site, and then all of it', async () => {
  const review = await analysed()
  const refused = await work(review.record, { ...deps, store: lagging(world.store) })
  expect(refused).toMatchObject({ error: { code: 'not-found' } })
  expect(await eventsOf(review)).toEqual([])
  await work(review.record)
  expect((await eventsOf(review))[0]?.data).toMatchObject({ bodySiteId: ids.bodySite })
})

it('records no body site if a client opened the case', async () => {
  const review = await analysed(lesions, false)
  await work(review.record)
  expect((await eventsOf(review))[0]?.data).toMatchObject({ bodySiteId: null })
})

it('supersedes the diagnoses after the findings were recorded, once', async () => {
  const review = await analysed()
  await work(review.record)
  expect(await work(review.supersede)).toMatchObject({ kind: 'done', position: expect.anything() })
  expect(await work(review.supersede)).toEqual({ kind: 'done', position: undefined })
  const events = await eventsOf(review)
  expect(events.map(({ type }) => type)).toEqual([...pairs, ...replaced])
  const findingId = v5('1', review.aiReviewId)
  const of = {
    caseId: review.caseId,
    findingId,
    diagnosisId: v5('diagnosis', findingId),
    aiReviewId: review.aiReviewId,
  }
  expect(events[4]?.data).toEqual({
    ...of,
    lesionNumber: 1,
    supersededById: ids.newReview,
    taskId: null,
    ordinal: 1,
    diagnosisCount: 2,
    supersededAt: instant(20),
  })
})

it('records the findings before it supersedes their diagnoses, and not again after', async () => {
  const review = await analysed()
  expect(await work(review.supersede)).toMatchObject({ kind: 'done', position: expect.anything() })
  expect(await typesOf(review)).toEqual([...pairs, ...replaced])
  expect(await work(review.record)).toEqual({ kind: 'done', position: undefined })
  // A worker with a stale list repeats the append with the same ids.
  expect(await work(review.record, otherDeps)).toMatchObject({ kind: 'done' })
  expect(await typesOf(review)).toEqual([...pairs, ...replaced])
})

it('appends the same events with the same ids in either order', async () => {
  const [first, second] = [await analysed(), await analysed()]
  await work(first.record)
  await work(first.supersede)
  await work(second.supersede, otherDeps)
  const named = async (review: Analysed) => (await eventsOf(review)).map(({ id }) => id)
  const expected = ({ record, supersede }: Analysed) => [
    ...[0, 1, 2, 3].map((index) => idOf('clinical.record-findings', record, index)),
    ...[0, 1].map((index) => idOf('clinical.supersede-diagnoses', supersede, index)),
  ]
  expect(await named(first)).toEqual(expected(first))
  expect(await named(second)).toEqual(expected(second))
})

it.each(['the one that records', 'the one that supersedes'])(
  'does both once where both are worked off at once, and %s appends first',
  async (winner) => {
    const review = await analysed()
    const [late, early] =
      winner === 'the one that records' ? [review.supersede, review.record] : [review.record, review.supersede]
    const inBetween = interrupted(world.store, 'case', async () => {
      await work(early, otherDeps)
    })
    expect(await work(late, { ...deps, store: inBetween })).toMatchObject({ kind: 'done' })
    expect(await typesOf(review)).toEqual([...pairs, ...replaced])
  },
)

it('does both once when four workers of two instances run both steps at once', async () => {
  const reviews = [await analysed(), await analysed(), await analysed()]
  await Promise.all(
    reviews.flatMap(({ record, supersede }) => [
      work(record),
      work(supersede),
      work(record, otherDeps),
      work(supersede, otherDeps),
    ]),
  )
  for (const review of reviews) expect(await typesOf(review)).toEqual([...pairs, ...replaced])
})

it('records 250 lesions in three appends, and continues after a crash between them', async () => {
  const many = Array.from({ length: 250 }, (_, index) => ({ ...lesion, lesionNumber: index + 1 }))
  const review = await analysed(many)
  let appends = 0
  const cut = watched(world.store, () => {
    appends += 1
    if (appends === 2) throw new Error('killed')
  })
  expect(await work(review.record, { ...deps, store: cut })).toEqual({ error: expect.any(Error) })
  expect(await typesOf(review)).toHaveLength(200)
  await work(review.record)
  await work(review.record, otherDeps)
  const events = await eventsOf(review)
  const numbers = events.filter(({ type }) => type === 'CaseFindingRecorded').map(({ data }) => at(data, 'ordinal'))
  expect(numbers).toEqual(many.map(({ lesionNumber }) => lesionNumber))
  expect(new Set(events.map(({ metadata }) => metadata.commandId)).size).toBe(3)
  await work(review.supersede)
  expect(await typesOf(review)).toHaveLength(750)
})

it.each([
  ['record', pairs],
  ['supersede', replaced],
] as const)('killed before the append of %s, and repeated after it', async (row, appended) => {
  const review = await analysed()
  if (row === 'supersede') await work(review.record)
  const before = await typesOf(review)
  const killed = mortal(deps, 0)
  expect(await work(review[row], killed.deps)).toEqual({ error: expect.any(KilledError) })
  expect(killed.killedBefore()).toBe(`case: ${appended.join(', ')}`)
  expect(await typesOf(review)).toEqual(before)
  for (const by of [deps, otherDeps]) await work(review[row], by)
  expect(await typesOf(review)).toEqual([...before, ...appended])
})

it('killed between a decision of a clinician and the successor of the review, supersedes the other diagnoses once', async () => {
  const review = await analysed()
  await work(review.record)
  const { caseId, aiReviewId } = review
  const [of, taskId] = [{ caseId, aiReviewId }, randomUUID()]
  const findingId = v5('1', aiReviewId)
  const byTask = { findingId, diagnosisId: v5('diagnosis', findingId), taskId, supersededById: taskId }
  const target = cases.of(world.orgId, caseId)
  const fact = caseFact('CaseDiagnosisSuperseded', { ...of, ...byTask, ordinal: 1, diagnosisCount: 2 })
  await world.otherStore.append(target, (await world.otherStore.load(target)).revision, [fact], contextOf(world))
  const killed = mortal(deps, 0)
  expect(await work(review.supersede, killed.deps)).toEqual({ error: expect.any(KilledError) })
  expect(killed.killedBefore()).toBe('case: CaseDiagnosisSuperseded')
  for (const by of [deps, otherDeps]) await work(review.supersede, by)
  const superseded = (await eventsOf(review)).filter(({ type }) => type === 'CaseDiagnosisSuperseded')
  const members = superseded.map(({ data }) => ['lesionNumber', 'taskId', 'ordinal'].map((name) => at(data, name)))
  expect(members).toEqual([
    [1, taskId, 1],
    [2, null, 2],
  ])
})

it('throws, and is tried again, while the case does not exist', async () => {
  const { record } = await analysed()
  const payload = { cause: record.payload.cause, channelRevision: await channelRevisionOfNoCase() }
  expect(await work({ ...record, payload })).toEqual({ error: expect.objectContaining({ code: 'not-found' }) })
})

async function channelRevisionOfNoCase(): Promise<string> {
  const before = await world.store.readLast(aiReviewChannelStream.name)
  const id = randomUUID()
  const { type, data } = reviewPublicFact('ai_review.completed', {
    orgId: world.orgId,
    caseId: randomUUID(),
    event_id: id,
  })
  const metadata = { commandId: randomUUID(), $correlationId: randomUUID(), $causationId: randomUUID() }
  const { revision } = await world.store.appendRaw(aiReviewChannelStream.name, before?.revision ?? 'no_stream', [
    { id, type, data, metadata },
  ])
  return revision.toString()
}
