import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { workflowChannel } from '../../../processes/workflows/workflows.channel.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { images } from '../../../streams/image/aggregate.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import type { Condition, WorkflowStep } from '../../../streams/workflow-definition/steps.ts'
import { workflowInstances } from '../../../streams/workflow-instance/aggregate.ts'
import { openUsersApi, type UsersApi, type WriteAnswer } from '../../read-api/users/users-api.ts'
import * as facts from '../../streams/facts.ts'
import { imageFact } from '../../streams/image-facts.ts'
import { decision, either, output, photos, questions, questionsOfEachType, to } from './graphs.ts'

/* The rules of definitions, outputs, steps and events of workflows, over HTTP. */

type Headers = Readonly<Record<string, string>>

let api: UsersApi
let client: Headers
let inject: (method: 'GET' | 'POST', path: string, body?: object, headers?: Headers) => Promise<WriteAnswer>
const [caseId, patientId] = [randomUUID(), randomUUID()]

beforeAll(async () => {
  api = await openUsersApi({ services: ['orchestrator'] })
  const { orgId } = api.world
  client = await api.token(orgId, ['orchestrator:*'])
  const { t } = await api.startProcess()
  inject = async (method, path, payload, given = client) => {
    const options = { method, url: `/v1/orchestrator${path}`, headers: given }
    const answer = await t.app.inject(payload === undefined ? options : { ...options, payload })
    const { statusCode: status, headers } = answer
    return { status, etag: headers['etag'], headers, body: JSON.parse(answer.body) as unknown }
  }
  await givenCase(caseId, patientId)
})
afterAll(() => api.close())

async function givenCase(id: string, ofPatient: string): Promise<void> {
  const { orgId } = api.world
  const registered = { patientId: ofPatient, organisationId: orgId }
  await api.append(patients.of(orgId, ofPatient), facts.patientFact('PatientRegistered', registered))
  const opened = { caseId: id, organisationId: orgId, patientId: ofPatient, assessmentId: null }
  await api.append(cases.of(orgId, id), facts.caseFact('CaseOpened', opened))
}

const publish = (steps: readonly object[], start = 'q') =>
  inject('POST', '/workflow-definitions', { name: `Rules ${randomUUID()}`, start_step_id: start, steps })

/** `400 validation-failed /pointer code …` */
function faultsOf({ status, body }: WriteAnswer): string {
  const errors = at(body, 'errors')
  const list: readonly unknown[] = Array.isArray(errors) ? errors : []
  return [status, ...list.flatMap((error) => [at(error, 'pointer'), at(error, 'code')])].join(' ')
}

/** The id of an instance of these steps. */
async function begin(steps: readonly WorkflowStep[], ofCase = caseId): Promise<string> {
  const published = await publish(steps, steps[0]?.step_id)
  expect(faultsOf(published)).toBe('201')
  const body = { workflow_definition_id: textAt(published.body, 'id'), case_id: ofCase }
  const started = await inject('POST', '/workflow-instances', body)
  expect(started.status).toBe(201)
  return textAt(started.body, 'id')
}

const advance = (id: string, stepId: string, given: unknown) =>
  inject('POST', `/workflow-instances/${id}/advance`, { step_id: stepId, output: given })
const read = async (id: string) => (await inject('GET', `/workflow-instances/${id}`)).body

test('names of definitions are compared in NFC without surrounding blanks, and stored as given', async () => {
  const name = `R\u00e8gles ${randomUUID()}`
  const spelled = ` ${name.normalize('NFD')} `
  const body = { start_step_id: 'o', steps: [output('o')] }
  const first = await inject('POST', '/workflow-definitions', { ...body, name })
  const second = await inject('POST', '/workflow-definitions', { ...body, name: spelled })
  expect(second.body).toMatchObject({ id: textAt(first.body, 'id'), version: 2, name: spelled })
})

describe('a definition is refused, with a pointer,', () => {
  const always: Condition = { op: 'exists', path: 'q.answers.text' }
  const many = (count: number) => [
    questions('q', to('s0')),
    ...Array.from({ length: count - 2 }, (_, index) =>
      decision(`s${index}`, to(index === count - 3 ? 'end' : `s${index + 1}`)),
    ),
    output('end'),
  ]

  test.each<readonly [string, readonly WorkflowStep[], string]>([
    [
      'if a step cannot be reached',
      [questions('q', to('end')), output('end'), output('lost')],
      '/steps/2 unreachable-step',
    ],
    ['if a step but an output has no branch', [questions('q', [])], '/steps/0/next dead-end'],
    [
      'if an output has a branch',
      [questions('q', to('end')), output('end', {}, to('q'))],
      '/steps/1/next next-of-output',
    ],
    [
      'if a cycle has no step that waits',
      [questions('q', to('a')), decision('a', either(always, 'end', 'b')), decision('b', to('a')), output('end')],
      '/steps/2/next/0/step_id endless-cycle',
    ],
    [
      'if the path of a condition does not exist',
      [questions('q', either({ op: 'exists', path: 'q.answers.height' }, 'end', 'end')), output('end')],
      '/steps/0/next/0/when/path unknown-path',
    ],
    ['if a branch leads nowhere', [questions('q', to('nowhere'))], '/steps/0/next/0/step_id unknown-step'],
    ['if two steps have one id', [questions('q', to('q')), questions('q', to('q'))], '/steps/1/step_id repeated'],
    [
      'if an assessment has no images',
      [questions('q', to('end')), output('end', { effect: 'assessment' })],
      '/steps/1/config/effect images-missing',
    ],
    ['if it has 201 steps', many(201), '/steps max-items'],
  ])('%s', async (_, steps, fault) => {
    expect(faultsOf(await publish(steps))).toBe(`400 ${fault}`)
  })

  test('but not for a cycle in which a step waits, nor for 200 steps', async () => {
    expect(faultsOf(await publish(many(200)))).toBe('201')
    const cycle = [questions('q', to('d')), decision('d', either(always, 'end', 'q')), output('end')]
    expect(faultsOf(await publish(cycle))).toBe('201')
  })
})

describe('names', () => {
  test.each(['Q', '1q', 'q.a', 'q a', '', `q${'a'.repeat(64)}`])('of steps and questions are not %j', async (name) => {
    const ofStep = await publish([{ ...questions('q', to('end')), step_id: name }, output('end')])
    expect(faultsOf(ofStep)).toBe('400 /steps/0/step_id pattern')
    const ofQuestion = { id: name, type: 'text' as const, text: 'T', required: false }
    const asked = await publish([questions('q', to('end'), [ofQuestion]), output('end')])
    expect(faultsOf(asked)).toBe('400 /steps/0/config/questions/0/id pattern')
  })

  test('have up to 64 lower-case letters, digits, underscores and hyphens', async () => {
    const name = `a_1-${'z'.repeat(60)}`
    const question = { id: name, type: 'text' as const, text: 'T', required: false }
    expect(faultsOf(await publish([questions(name, to('end'), [question]), output('end')], name))).toBe('201')
  })
})

describe('an output', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })

  test.each<readonly [string, unknown]>([
    ['text', 7],
    ['number', '7'],
    ['boolean', 'true'],
    ['date', '2026-02-29'],
    ['date', '2026-03-01T00:00:00Z'],
    ['choice', 'c'],
    ['text', null],
    ['text', 'x'.repeat(10_001)],
  ])('has no %s %j', async (type, value) => {
    const id = await begin([questions('q', to('end')), output('end')])
    const refused = await advance(id, 'q', { answers: { [type]: value } })
    expect(faultsOf(refused)).toMatch(new RegExp(`^400 /output/answers/${type} `))
    expect(await read(id)).toMatchObject({ state: 'parked', outputs: {} })
  })

  test('has answers of each type, and at most 16 levels and 64 KiB', async () => {
    const id = await begin([questions('q', to('end')), output('end')])
    for (const tooLarge of [{ answers: { text: nested(17) } }, { answers: { text: 'x'.repeat(70_000) } }])
      expect(faultsOf(await advance(id, 'q', tooLarge))).toMatch(/^400 \/output /)
    const answers = { text: 'x'.repeat(10_000), number: -1.5, boolean: false, date: '2024-02-29', choice: 'b' }
    expect((await advance(id, 'q', { answers })).body).toMatchObject({
      state: 'completed',
      outputs: { q: { answers } },
    })
  })

  test('has at most 512 KiB of values, which fit into one append with the answers; else the instance fails', async () => {
    const long = Array.from({ length: 6 }, (_, index) => ({
      id: `a${index}`,
      type: 'text' as const,
      text: 'Text',
      required: false,
    }))
    const answers = Object.fromEntries(long.map(({ id }) => [id, 'a'.repeat(10_000)]))
    const answered = async (names: number) => {
      const values = Object.fromEntries(Array.from({ length: names }, (_, index) => [`v${index}`, 'q.answers.a0']))
      const id = await begin([questions('q', to('end'), long), output('end', { values })])
      const { status, body } = await advance(id, 'q', { answers })
      return [status, textAt(body, 'state'), at(body, 'error', 'code')]
    }
    expect(await answered(52)).toEqual([200, 'completed', undefined])
    expect(await answered(53)).toEqual([200, 'failed', 'values-too-large'])
  })

  test('contains the values that its paths name, null for a missing one', async () => {
    const values = { one: 'q.answers.text', two: 'q.answers.number', pictures: 'p.image_ids' }
    const id = await begin([
      questions('q', to('p')),
      photos('p', to('end'), { min: 0, max: 2 }),
      output('end', { values }),
    ])
    await advance(id, 'q', { answers: { text: 'a' } })
    expect((await advance(id, 'p', { image_ids: [] })).body).toMatchObject({
      outputs: { end: { values: { one: 'a', two: null, pictures: [] } } },
    })
  })
})

describe('images', () => {
  async function receivedImage(): Promise<string> {
    const imageId = randomUUID()
    const { orgId } = api.world
    const declared = imageFact('ImageDeclared', { imageId, organisationId: orgId, caseId, captureType: 'dermoscopic' })
    const received = imageFact('ImageReceived', { imageId })
    await api.append(images.of(orgId, imageId), declared, received)
    return imageId
  }

  test('are at most as many as the step takes, each once, of an allowed kind', async () => {
    const id = await begin([photos('p', to('end'), { min: 1, max: 2 }), output('end')])
    const [one, two, three] = [await receivedImage(), await receivedImage(), await receivedImage()]
    const place = '/output/image_ids'
    expect(faultsOf(await advance(id, 'p', { image_ids: [one, two, three] }))).toBe(`400 ${place} max-items`)
    expect(faultsOf(await advance(id, 'p', { image_ids: [one, one] }))).toBe(`400 ${place} unique-items`)
    expect(faultsOf(await advance(id, 'p', {}))).toBe(`400 ${place} required`)
    expect((await advance(id, 'p', { image_ids: [one, two] })).body).toMatchObject({ state: 'completed' })
  })

  test.each([
    ['the default', {}, 'lesion'],
    ['the one of the step', { finding_type: 'patch' as const }, 'patch'],
  ])('end in an assessment of a finding type: %s', async (_, config, findingType) => {
    const { orgId, otherStore } = api.world
    const productId = randomUUID()
    const ofProduct = await api.token(orgId, ['orchestrator:*'], productId)
    const steps = [photos('p', to('end')), output('end', { effect: 'assessment', ...config })]
    const id = await begin(steps)
    const imageId = await receivedImage()
    const collected = { step_id: 'p', output: { image_ids: [imageId] } }
    const advanced = await inject('POST', `/workflow-instances/${id}/advance`, collected, ofProduct)
    expect(advanced.body).toMatchObject({ state: 'running' })
    const last = await otherStore.readLast(workflowInstances.of(orgId, id).stream)
    expect(last).toMatchObject({
      type: 'WorkflowAssessmentRequested',
      data: { productId, findingType, imageIds: [imageId] },
    })
  })
})

describe('a condition', () => {
  const answers = { text: 'b', number: 7, boolean: true, date: '2026-03-01', choice: 'a' }
  const path = (name: string) => `q.answers.${name}`
  const unanswered = questionsOfEachType.map((question) => ({ ...question, id: `no-${question.type}` }))
  const asking = (when: Condition) => [
    questions('q', either(when, 'hit', 'miss'), [...questionsOfEachType, ...unanswered]),
    output('hit'),
    output('miss'),
  ]

  test.each<readonly ['hit' | 'miss', Condition]>([
    ['hit', { op: 'eq', path: path('text'), value: 'b' }],
    ['miss', { op: 'eq', path: path('text'), value: 'B' }],
    ['hit', { op: 'ne', path: path('choice'), value: 'b' }],
    ['miss', { op: 'ne', path: path('boolean'), value: true }],
    ['hit', { op: 'gt', path: path('number'), value: 6.5 }],
    ['miss', { op: 'gt', path: path('number'), value: 7 }],
    ['hit', { op: 'gte', path: path('number'), value: 7 }],
    ['hit', { op: 'lt', path: path('date'), value: '2026-03-02' }],
    ['hit', { op: 'lte', path: path('date'), value: '2026-03-01' }],
    ['miss', { op: 'lt', path: path('date'), value: '2026-03-01' }],
    ['hit', { op: 'in', path: path('number'), values: [1, 7] }],
    ['miss', { op: 'in', path: path('choice'), values: ['b'] }],
    ['hit', { op: 'exists', path: path('text') }],
    ['miss', { op: 'exists', path: path('no-text') }],
    ['hit', { op: 'not', condition: { op: 'exists', path: path('no-text') } }],
    [
      'miss',
      {
        op: 'and',
        conditions: [
          { op: 'exists', path: path('text') },
          { op: 'exists', path: path('no-text') },
        ],
      },
    ],
    [
      'hit',
      {
        op: 'or',
        conditions: [
          { op: 'exists', path: path('no-text') },
          { op: 'exists', path: path('text') },
        ],
      },
    ],
    ['miss', { op: 'eq', path: path('no-number'), value: 7 }],
    ['miss', { op: 'ne', path: path('no-number'), value: 7 }],
    ['miss', { op: 'lt', path: path('no-number'), value: 7 }],
  ])('leads to a %s: %j', async (branch, when) => {
    const id = await begin(asking(when))
    expect(Object.keys(Object(at((await advance(id, 'q', { answers })).body, 'outputs')))).toEqual(['q', branch])
  })

  const place = '/steps/0/next/0/when'
  test.each<readonly [object, string]>([
    [{ op: 'eq', path: path('number'), value: '7' }, `${place}/value wrong-type`],
    [{ op: 'lt', path: path('date'), value: '2026-02-30' }, `${place}/value wrong-type`],
    [{ op: 'eq', path: path('choice'), value: 'c' }, `${place}/value wrong-type`],
    [{ op: 'in', path: path('number'), values: [1, 'x'] }, `${place}/values/1 wrong-type`],
    [{ op: 'gt', path: path('text'), value: 'a' }, `${place}/op wrong-operator`],
    [{ op: 'exists', path: 'q.image_ids' }, `${place}/path unknown-path`],
    [{ op: 'exists', path: 'hit.answers.text' }, `${place}/path unknown-path`],
    [{ op: 'like', path: path('text'), value: 'b' }, `${place}/op enum`],
    [{ op: 'eq', path: path('text') }, `${place}/value required`],
    [
      { op: 'not', condition: { op: 'and', conditions: [{ op: 'exists', path: 'x' }] } },
      `${place}/condition/conditions/0/path unknown-path`,
    ],
  ])('is refused: %j', async (when, fault) => {
    expect(faultsOf(await publish(asking(when as Condition)))).toBe(`400 ${fault}`)
  })
})

test('an instance enters at most 1,000 steps; the output is then kept, and no step is parked', async () => {
  const ids = Array.from({ length: 198 }, (_, index) => `d${index}`)
  const round = ids.map((id, index) => decision(id, to(ids[index + 1] ?? 'q')))
  const id = await begin([questions('q', to('d0')), ...round])
  for (let count = 0; count < 5; count += 1)
    expect((await advance(id, 'q', { answers: { number: count } })).body).toMatchObject({ state: 'parked' })
  expect((await advance(id, 'q', { answers: { number: 5 } })).body).toMatchObject({
    state: 'failed',
    parked_step: null,
    error: { code: 'workflow-too-long' },
    outputs: { q: { answers: { number: 5 } } },
  })
})

test('an output that comes again with another key is taken once, although a cycle parks its step again', async () => {
  const id = await begin([questions('q', to('p')), photos('p', to('q'), { min: 0, max: 1 })])
  const path = `/workflow-instances/${id}`
  const { etag = '' } = await inject('GET', path)
  const send = (key: string) => {
    const headers = { ...client, 'idempotency-key': key, 'if-match': String(etag) }
    return inject('POST', `${path}/advance`, { step_id: 'q', output: { answers: { text: 'a' } } }, headers)
  }
  expect((await send('first')).status).toBe(200)
  expect(await send('second')).toMatchObject({ status: 200, body: { parked_step: { step_id: 'p' } } })
  await advance(id, 'p', { image_ids: [] })
  for (const key of ['first', 'second'])
    expect(await send(key)).toMatchObject({ status: 200, body: { parked_step: { step_id: 'q' } } })
})

test('a failed and a cancelled instance are published with their state, and without answers', async () => {
  const never = [{ when: { op: 'eq' as const, path: 'q.answers.text', value: 'yes' }, step_id: 'end' }]
  const failed = await begin([questions('q', never), output('end')])
  expect((await advance(failed, 'q', { answers: { text: 'canary' } })).body).toMatchObject({
    state: 'failed',
    error: { code: 'no-next-step', message: expect.any(String) },
  })
  const cancelled = await begin([questions('q', to('end')), output('end')])
  expect((await inject('POST', `/workflow-instances/${cancelled}/cancel`)).body).toMatchObject({ state: 'cancelled' })
  const { orgId, otherStore } = api.world
  for (const [id, ...ends] of [
    [failed, 'workflow.instance.failed', 'failed', 'q', 'no-next-step'],
    [cancelled, 'workflow.instance.cancelled', 'cancelled', undefined, undefined],
  ] as const) {
    const published: { readonly type: string; readonly data: unknown }[] = []
    for await (const event of otherStore.readStream(workflowInstances.of(orgId, id).stream))
      published.push(...((await workflowChannel.translate[event.type]?.(event, { store: otherStore })) ?? []))
    expect(
      published.map(({ type, data }) => [type, ...['state', 'step_id', 'error_code'].map((name) => at(data, name))]),
    ).toEqual([
      ['workflow.instance.started', 'running', undefined, undefined],
      ['workflow.instance.parked', 'parked', 'q', undefined],
      ends,
    ])
    for (const { data } of published)
      expect(data).toMatchObject({ workflow_instance_id: id, case_id: caseId, definition_version: 1 })
    expect(JSON.stringify(published)).not.toContain('canary')
  }
})

test('answers are shown, and sealed with the key of the patient: without it the log has none', async () => {
  const [ofCase, ofPatient] = [randomUUID(), randomUUID()]
  await givenCase(ofCase, ofPatient)
  const id = await begin([questions('q', to('r')), questions('r', to('end')), output('end')], ofCase)
  await advance(id, 'q', { answers: { text: 'canary' } })
  expect(await read(id)).toMatchObject({ outputs: { q: { answers: { text: 'canary' } } } })
  const { orgId, otherStore, vault } = api.world
  await vault.destroySubject(orgId, ofPatient)
  otherStore.forgetStates()
  const { state } = await otherStore.load(workflowInstances.of(orgId, id))
  expect(state.status === 'absent' ? undefined : state.outputs.get('q')).toBe(null)
})

test('an instance of an erased patient takes no output', async () => {
  const [ofCase, ofPatient] = [randomUUID(), randomUUID()]
  await givenCase(ofCase, ofPatient)
  const id = await begin([questions('q', to('end')), output('end')], ofCase)
  await api.world.vault.destroySubject(api.world.orgId, ofPatient)
  const refused = await advance(id, 'q', { answers: {} })
  expect([refused.status, at(refused.body, 'code')]).toEqual([410, 'subject-erased'])
})

test('the start of an instance is not repeated once the erasure of its patient has begun', async () => {
  const [ofCase, ofPatient] = [randomUUID(), randomUUID()]
  await givenCase(ofCase, ofPatient)
  const published = await publish([questions('q', to('end')), output('end')])
  const body = { workflow_definition_id: textAt(published.body, 'id'), case_id: ofCase }
  const start = () => inject('POST', '/workflow-instances', body, { ...client, 'idempotency-key': ofCase })
  const started = await start()
  expect(started.status).toBe(201)
  await advance(textAt(started.body, 'id'), 'q', { answers: { text: 'canary' } })
  expect((await start()).status).toBe(201)
  api.world.vault.closeSubject(api.world.orgId, ofPatient)
  const refused = await start()
  expect([refused.status, at(refused.body, 'code')]).toEqual([410, 'subject-erased'])
})
