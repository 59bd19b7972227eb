import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { ids } from '../../streams/facts.ts'
import { mortal } from '../../processes/users/mortal-process.ts'
import type { Running } from '../../processes/ai-review/review-steps.ts'
import { openReviewApi, refusalOf, type ReviewApi } from './review-api.ts'

/* Every row of the table in section 3.2 of the interface specification, over HTTP. */

let api: ReviewApi
beforeAll(async () => {
  api = await openReviewApi()
})
afterAll(() => api.close())
beforeEach(() => api.world.reset())

/** How a review gets into each state from which a row starts. */
const states = {
  pending: () => api.startedBy(0),
  in_progress: () => api.startedBy(1),
  awaiting_result: () => api.startedBy(3),
  completed: async () => polled(await api.startedBy(3)),
  failed: async () => {
    api.world.services.consent = 'denied'
    const id = await api.startedBy(1)
    api.world.services.consent = 'granted'
    return id
  },
  cancelled: async () => {
    const id = await api.requested()
    await api.post(`/${id}/cancel`)
    return id
  },
} as const
type State = keyof typeof states
const everyState = Object.keys(states) as State[]
const running = ['pending', 'in_progress', 'awaiting_result'] as const

/** The review in that state. */
async function reviewIn(state: State): Promise<string> {
  const id = await states[state]()
  expect(await api.review(id)).toMatchObject({ id, status: state })
  return id
}

/** Makes the first poll at its time. */
async function polled(id: string, seconds = 5): Promise<string> {
  api.world.pass(seconds)
  await api.run('poll', id)
  return id
}

test('3.2 row 1: (none) -> pending, by POST /v1/ai-reviews if no review holds the slot', async () => {
  const body = { caseId: await api.newCase(), images: [await api.image()] }
  const made = await api.post('', { body })
  const id = textAt(made.body, 'aiReviewId')
  expect([made.status, at(made.body, 'status')]).toEqual([202, 'pending'])
  expect(await api.review(id)).toMatchObject({ status: 'pending', caseId: body.caseId, providerCaseId: null })
  const again = await api.post('', { body })
  expect([again.status, at(again.body, 'aiReviewId')]).toEqual([200, id])
  await api.run('start', id)
  expect(await api.calls()).toEqual(['case 200'])
})

test('3.2 row 1: (none) -> pending, by a request event if no review holds the slot', async () => {
  const caseId = await api.newCase()
  const id = await api.requestedByEvent(caseId)
  expect(await api.review(id)).toMatchObject({ status: 'pending', caseId, providerCaseId: null, attemptCount: 0 })
  expect(await api.requestedByEvent(caseId)).toBe(id)
  await api.run('start', id)
  expect(await api.calls()).toEqual(['case 200'])
})

test('3.2 row 2: pending -> in_progress, with the provider case, after the consent check', async () => {
  const id = await reviewIn('pending')
  const asked: string[] = []
  api.world.services.before = (route) => void asked.push(route)
  await api.run('start', id)
  expect(await api.review(id)).toMatchObject({ status: 'in_progress', providerCaseId: expect.any(Number) })
  expect(asked).toContain('GET /v1/consent-records')
  expect(await api.published(id)).toEqual(['ai_review.started'])
})

test('3.2 row 3: pending -> failed without consent, and without a provider call', async () => {
  const id = await reviewIn('pending')
  api.world.services.consent = 'withdrawn'
  await api.run('start', id)
  const failed = { status: 'failed', errorClassification: 'consent_missing', completedAt: expect.any(String) }
  expect(await api.review(id)).toMatchObject(failed)
  expect(await api.calls()).toEqual([])
  expect((await api.published(id)).at(-1)).toBe('ai_review.failed')
})

test('3.2 row 4: in_progress -> awaiting_result, with the checksum, and a poll after the initial delay', async () => {
  const id = await reviewIn('in_progress')
  await api.run('start', id)
  expect(at(await api.review(id), 'status')).toBe('in_progress')
  await api.run('start', id)
  expect(await api.review(id)).toMatchObject({ status: 'awaiting_result', providerChecksum: expect.any(String) })
  const until = new Date(api.world.now().getTime() + 5_000)
  expect(await api.run('poll', id)).toEqual({ kind: 'wait', until })
  expect(await api.calls()).toEqual(['case 200', 'image 200', 'process 200'])
})

test('3.2 row 5: awaiting_result -> completed, with result, lesions and image quality', async () => {
  const id = await polled(await reviewIn('awaiting_result'))
  expect(await api.review(id)).toMatchObject({
    status: 'completed',
    attemptCount: 1,
    providerVersion: '5.4.1-simulator',
    completedAt: expect.any(String),
    result: { analysisResult: 'SUCCESSFUL_PROCESSING', lesionCount: expect.any(Number) },
    lesions: expect.arrayContaining([expect.objectContaining({ lesionNumber: 1 })]),
    images: [{ imageQuality: 'IMAGE_QUALITY_SUITABLE' }],
  })
  expect((await api.published(id)).at(-1)).toBe('ai_review.completed')
  expect((await api.get(`/${id}/raw`)).body).toMatchObject({ status: 'STATUS_PROCESSED' })
})

test('3.2 row 6: awaiting_result -> failed with another analysis result', async () => {
  const id = await reviewIn('awaiting_result')
  await api.world.provider.result({ sha256: '*', analysis_result: 'PROCESSING_FAILED' })
  await polled(id)
  const failed = { status: 'failed', errorClassification: 'provider_processing_failed', result: null }
  expect(await api.review(id)).toMatchObject(failed)
  expect((await api.published(id)).at(-1)).toBe('ai_review.failed')
})

test('3.2 row 7: awaiting_result -> awaiting_result while the case is not processed', async () => {
  const id = await reviewIn('awaiting_result')
  await api.world.provider.result({ sha256: '*', not_ready_polls: 2 })
  for (const [attemptCount, seconds] of [
    [1, 5],
    [2, 5],
  ] as const) {
    await polled(id, seconds)
    expect(await api.review(id)).toMatchObject({ status: 'awaiting_result', attemptCount })
  }
  const until = new Date(api.world.now().getTime() + 15_000)
  expect(await api.run('poll', id)).toEqual({ kind: 'wait', until })
  await polled(id, 15)
  expect(await api.review(id)).toMatchObject({ status: 'completed', attemptCount: 3 })
})

test.each([
  ['the time budget is over', {}, 600],
  ['the polls are used up', { providerResultMaxAttempts: 1 }, 5],
])('3.2 row 8: awaiting_result -> failed when %s', async (_, changes, seconds) => {
  const id = await reviewIn('awaiting_result')
  await api.world.provider.result({ sha256: '*', not_ready_polls: 100 })
  api.world.pass(seconds)
  await api.run('poll', id, { deps: api.world.rewired(changes) })
  const failed = { status: 'failed', errorClassification: 'provider_result_timeout', attemptCount: 1 }
  expect(await api.review(id)).toMatchObject(failed)
  expect((await api.published(id)).at(-1)).toBe('ai_review.failed')
})

test('3.2 row 8, T3: by default the polls come after 5, 10, 25, 55, 115, 235, 535 and exactly 600 s', async () => {
  const id = await reviewIn('awaiting_result')
  const begin = api.world.now().getTime()
  await api.world.provider.result({ sha256: '*', not_ready_polls: 100 })
  const polls: number[] = []
  for (let result = await api.run('poll', id); 'kind' in result && result.kind === 'wait';) {
    const seconds = (result.until.getTime() - begin) / 1000
    polls.push(seconds)
    api.world.pass(seconds - (api.world.now().getTime() - begin) / 1000)
    await api.run('poll', id)
    result = await api.run('poll', id)
  }
  expect(polls).toEqual([5, 10, 25, 55, 115, 235, 535, 600])
  const failed = { status: 'failed', errorClassification: 'provider_result_timeout', attemptCount: 8 }
  expect(await api.review(id)).toMatchObject(failed)
})

test('a poll that is due after the deadline is still made once', async () => {
  const [ready, never] = [await reviewIn('awaiting_result'), await reviewIn('awaiting_result')]
  api.world.pass(3_600)
  await polled(ready, 0)
  expect(await api.review(ready)).toMatchObject({ status: 'completed', attemptCount: 1 })
  await api.world.provider.result({ sha256: '*', not_ready_polls: 100 })
  await polled(never, 0)
  const failed = { status: 'failed', errorClassification: 'provider_result_timeout', attemptCount: 1 }
  expect(await api.review(never)).toMatchObject(failed)
})

/** Runs a job in a process that dies after so many appends, between the answer of the provider and its record. */
async function dies(
  id: string,
  appends: number,
  outcome: string,
  job: 'start' | 'poll' = 'start',
  running: Running = {},
): Promise<void> {
  await api.world.provider.reset()
  const dying = mortal(api.world.deps, appends)
  expect(await api.run(job, id, { ...running, deps: dying.deps })).toMatchObject({ error: expect.any(Error) })
  expect(dying.killedBefore()).toBe(`ai_review: ${outcome}`)
  // The lease of the attempt.
  api.world.pass(60)
}

test.each([
  ['case', 'pending', 1, 'AiReviewProviderCaseCreated', ['case 200', 'case 200']],
  ['image', 'in_progress', 1, 'AiReviewImageSent', ['image 200', 'case 200']],
  // A run that calls again appends the outcome with the next attempt.
  ['case', 'pending', 1, 'AiReviewProviderCaseCreated, AiReviewCallAttempted', ['case 200', 'case 200']],
  ['image', 'in_progress', 1, 'AiReviewImageSent, AiReviewCallAttempted', ['image 200', 'case 200']],
] as const)('an open attempt of %s abandons its provider case', async (_, state, appends, outcome, calls) => {
  const id = await reviewIn(state)
  const before = at(await api.review(id), 'providerCaseId')
  await dies(id, appends, outcome, 'start', { mayCallAgain: outcome.includes(',') })
  expect(at(await api.review(id), 'providerCaseId')).toBe(before)
  await api.run('start', id)
  expect(await api.calls()).toEqual(calls)
  const replaced = at(await api.review(id), 'providerCaseId')
  expect([typeof replaced, replaced === before]).toEqual(['number', false])
  for (let call = 0; call < 2; call += 1) await api.run('start', id)
  expect(at(await api.review(await polled(id)), 'status')).toBe('completed')
})

test('an open attempt of process is repeated on the same provider case, with the same checksum', async () => {
  const id = await reviewIn('in_progress')
  await api.run('start', id)
  const before = at(await api.review(id), 'providerCaseId')
  await dies(id, 1, 'AiReviewProcessingAccepted')
  await api.run('start', id)
  expect(await api.calls()).toEqual(['process 200', 'process 200'])
  expect(await api.review(id)).toMatchObject({ status: 'awaiting_result', providerCaseId: before })
  const sent = (await api.world.provider.calls()).filter(({ call }) => call === 'process')
  expect(new Set(sent.map(({ checksum }) => checksum))).toEqual(new Set([at(await api.review(id), 'providerChecksum')]))
})

test('an open attempt of process of a run that calls again is repeated on the same provider case', async () => {
  const id = await reviewIn('pending')
  await dies(id, 3, 'AiReviewProcessingAccepted', 'start', { mayCallAgain: true })
  const before = at(await api.review(id), 'providerCaseId')
  await api.run('start', id)
  expect(await api.calls()).toEqual(['case 200', 'image 200', 'process 200', 'process 200'])
  expect(await api.review(id)).toMatchObject({ status: 'awaiting_result', providerCaseId: before })
})

test('a poll whose answer was not recorded is repeated, and the review completes once', async () => {
  const id = await reviewIn('awaiting_result')
  api.world.pass(5)
  await dies(id, 1, 'AiReviewCompleted', 'poll')
  expect(await api.review(id)).toMatchObject({ status: 'awaiting_result', attemptCount: 0 })
  await polled(id, 0)
  expect(await api.calls()).toEqual(['result 200', 'result 200'])
  expect(await api.review(id)).toMatchObject({ status: 'completed', attemptCount: 1 })
  expect((await api.published(id)).filter((type) => type === 'ai_review.completed')).toHaveLength(1)
})

test.each(['pending', 'in_progress'] as const)('3.2 row 9: %s -> failed by an error of the provider', async (state) => {
  const id = await reviewIn(state)
  await api.world.provider.fault({ call: state === 'pending' ? 'case' : 'image', status: 422 })
  await api.run('start', id)
  expect(await api.review(id)).toMatchObject({ status: 'failed', errorClassification: 'provider_client_error' })
  expect((await api.published(id)).at(-1)).toBe('ai_review.failed')
})

test.each(running)('3.2 row 10: %s -> cancelled, and the next step makes no call', async (state) => {
  const id = await reviewIn(state)
  const before = await api.calls()
  const answer = await api.post(`/${id}/cancel`)
  expect([answer.status, answer.body]).toEqual([200, { aiReviewId: id, status: 'cancelled' }])
  expect(await api.review(id)).toMatchObject({ status: 'cancelled', cancelReason: 'requested' })
  expect(await api.run('start', id)).toEqual({ kind: 'done' })
  api.world.pass(5)
  expect(await api.run('poll', id)).toEqual({ kind: 'done' })
  expect(await api.calls()).toEqual(before)
})

test.each(['completed', 'failed'] as const)('3.2 row 10: a review that is %s cannot be cancelled', async (state) => {
  expect(refusalOf(await api.post(`/${await reviewIn(state)}/cancel`))).toBe('409 ai-review-not-cancellable')
})

test.each(everyState)(
  '3.2 row 11: %s -> superseded by POST supersede, and the old review goes no further',
  async (state) => {
    const id = await reviewIn(state)
    const before = await api.calls()
    const body = { reason: 'new photographs', images: [await api.image()] }
    const answer = await api.post(`/${id}/supersede`, { body })
    const supersededById = textAt(answer.body, 'aiReviewId')
    expect([answer.status, answer.body]).toEqual([
      202,
      { aiReviewId: supersededById, status: 'pending', supersededAiReviewId: id },
    ])
    const old = { status: 'superseded', supersededById, supersededAt: expect.any(String) }
    expect(await api.review(id)).toMatchObject(old)
    expect(await api.review(supersededById)).toMatchObject({ status: 'pending', supersededById: null })
    expect((await api.published(id)).at(-1)).toBe('ai_review.superseded')
    expect(await api.run('start', id)).toEqual({ kind: 'done' })
    api.world.pass(5)
    expect(await api.run('poll', id)).toEqual({ kind: 'done' })
    expect(await api.calls()).toEqual(before)
    expect(refusalOf(await api.post(`/${id}/supersede`, { body }))).toBe('409 ai-review-already-superseded')

    for (let call = 0; call < 3; call += 1) await api.run('start', supersededById)
    await polled(supersededById)
    expect(at(await api.review(supersededById), 'status')).toBe('completed')
  },
)

test('3.2 row 11: a review of another service is superseded before its start, and its successor completes', async () => {
  const id = await api.requestedByEvent(await api.newCase())
  expect(await api.review(id)).toMatchObject({ status: 'pending', patientId: null })
  const answer = await api.post(`/${id}/supersede`, { body: { images: [await api.image()] } })
  const newId = textAt(answer.body, 'aiReviewId')
  expect([answer.status, await api.run('start', id)]).toEqual([202, { kind: 'done' }])
  expect(await api.review(id)).toMatchObject({ status: 'superseded', supersededById: newId })
  for (let call = 0; call < 3; call += 1) await api.run('start', newId)
  expect(await api.review(await polled(newId))).toMatchObject({ status: 'completed', patientId: ids.patient })
})

test.each(everyState)('3.2 row 11: %s -> superseded by POST with supersede: true', async (state) => {
  const id = await reviewIn(state)
  const caseId = textAt(await api.review(id), 'caseId')
  const body = { caseId, images: [await api.image()], supersede: true }
  const answer = await api.post('', { body })
  const supersededById = textAt(answer.body, 'aiReviewId')
  expect([answer.status, at(answer.body, 'status')]).toEqual([202, 'pending'])
  expect(await api.review(id)).toMatchObject({ status: 'superseded', supersededById })
  expect((await api.published(id)).at(-1)).toBe('ai_review.superseded')
})

test('3.2 row 11: an image that is on its way during the supersede changes nothing', async () => {
  const id = await reviewIn('in_progress')
  const { deps } = api.world
  let newId = ''
  const sendImage: typeof deps.provider.sendImage = async (...parameters) => {
    const answer = await deps.provider.sendImage(...parameters)
    const body = { images: [await api.image()] }
    newId = textAt((await api.post(`/${id}/supersede`, { body })).body, 'aiReviewId')
    return answer
  }
  await api.run('start', id, { deps: { ...deps, provider: { ...deps.provider, sendImage } } })
  expect(await api.review(id)).toMatchObject({ status: 'superseded', supersededById: newId })
  await api.run('start', newId)
  expect(await api.review(newId)).toMatchObject({ status: 'in_progress' })
})

test.each(['completed', 'failed', 'cancelled'] as const)('3.2: a %s review keeps the slot', async (state) => {
  const id = await reviewIn(state)
  const body = { caseId: textAt(await api.review(id), 'caseId'), images: [await api.image()] }
  const answer = await api.post('', { body })
  expect([answer.status, answer.body]).toEqual([200, { aiReviewId: id, status: state }])
})

test('3.2: unsuitable image quality is no failure', async () => {
  const id = await reviewIn('awaiting_result')
  await api.world.provider.result({ sha256: '*', image_quality: 'IMAGE_QUALITY_UNSUITABLE' })
  await polled(id)
  const images = [{ imageQuality: 'IMAGE_QUALITY_UNSUITABLE' }]
  expect(await api.review(id)).toMatchObject({ status: 'completed', error: null, images })
})

test('a review of another organisation is 404 for every route', async () => {
  const id = await reviewIn('pending')
  const foreign = { orgId: randomUUID() }
  const body = { images: [await api.image()] }
  expect(refusalOf(await api.get(`/${id}`, foreign))).toBe('404 not-found')
  expect(refusalOf(await api.get(`/${id}/raw`, foreign))).toBe('404 not-found')
  expect(refusalOf(await api.post(`/${id}/cancel`, foreign))).toBe('404 not-found')
  expect(refusalOf(await api.post(`/${id}/supersede`, { ...foreign, body }))).toBe('404 not-found')
  expect((await api.get('', foreign)).body).toMatchObject({ data: [] })
})
