import { describe, expect, test } from 'vitest'
import { operations, type Acknowledged, type LoadSummary, type Operation } from '../../../tools/torture/acknowledged.ts'
import { checkAcknowledged, checkAnswers, checkUnacknowledged } from '../../../tools/torture/checks/acknowledged.ts'
import { checkApi } from '../../../tools/torture/checks/api.ts'
import { checkEndings, checkSlots, withoutEnd } from '../../../tools/torture/checks/endings.ts'
import { checkOutcomes, outcomesOf } from '../../../tools/torture/checks/outcomes.ts'
import { checkReadModels, type TableContent } from '../../../tools/torture/checks/read-models.ts'
import { underWay } from '../../../tools/torture/stage/quiet.ts'
import { streamOf, exampleLog } from '../../../tools/torture/example-log.ts'

const said = ({ findings }: { readonly findings: readonly { readonly what: string }[] }) =>
  findings.map(({ what }) => what)

describe('acknowledged writes', () => {
  const log = exampleLog(
    [streamOf('patient', 'p1'), 'PatientRegistered', { patientId: 'p1' }],
    [streamOf('patient', 'p2'), 'PatientRegistered', { patientId: 'p2' }],
  )
  const acknowledged = (id: string, position: string | null = null, key = `key of ${id}`): Acknowledged => ({
    operation: 'patient',
    key,
    status: 201,
    id,
    position,
    at: 0,
  })
  const unanswered = Object.fromEntries(operations.map((operation) => [operation, 0])) as Record<Operation, number>
  const load = (answers: Record<string, number>, patient = 0): LoadSummary => ({
    sent: 3,
    repeated: 0,
    answers,
    unanswered: { ...unanswered, patient },
  })

  test('are accepted once in the log, however often they are acknowledged', () => {
    expect(
      checkAcknowledged([acknowledged('p1', '0/0'), acknowledged('p1', '10/10'), acknowledged('p2')], log),
    ).toMatchObject({
      examined: 3,
      findings: [],
    })
  })

  test.each<readonly [string, readonly Acknowledged[], string]>([
    ['is lost', [acknowledged('p3')], 'acknowledged, but not in the log'],
    [
      'has two ids for one key',
      [acknowledged('p1', null, 'key'), acknowledged('p2', null, 'key')],
      'one key with two ids, the earlier one: p1',
    ],
    [
      'has a position that does not exist',
      [acknowledged('p1', '5/5')],
      'acknowledged at 5/5, where the log has no event',
    ],
    ['has a position before its event', [acknowledged('p2', '0/0')], 'acknowledged at 0/0, before its event'],
  ])('are found where one %s', (_, ones, what) => expect(said(checkAcknowledged(ones, log))).toEqual([what]))

  test('are found where one occurs twice', () => {
    const doubled = exampleLog(
      [streamOf('patient', 'p1'), 'PatientRegistered', { patientId: 'p1' }],
      [streamOf('patient', 'p1'), 'PatientRegistered', { patientId: 'p1' }],
    )
    expect(said(checkAcknowledged([acknowledged('p1')], doubled))).toEqual(['acknowledged once, but twice in the log'])
  })

  test('are the only ones in the log, except those that were never answered', () => {
    expect(checkUnacknowledged([acknowledged('p1'), acknowledged('p2')], load({}), log)).toMatchObject({
      examined: 2,
      findings: [],
    })
    expect(checkUnacknowledged([acknowledged('p1')], load({}, 1), log).findings).toEqual([])
    expect(said(checkUnacknowledged([acknowledged('p1')], load({}), log))).toEqual([
      'in the log, but never acknowledged',
    ])
  })

  test('may lack the opinion about a patient who was erased before the request was repeated', () => {
    const opinion = [
      streamOf('humanreviewtask', 't1'),
      'HumanReviewOpinionGiven',
      { taskId: 't1', patientId: 'p1' },
    ] as const
    expect(said(checkUnacknowledged([], load({}), exampleLog(opinion)))).toEqual(['in the log, but never acknowledged'])
    const erased = [streamOf('patienterasure', 'p1'), 'PatientErasureStarted', { patientId: 'p1' }] as const
    expect(checkUnacknowledged([], load({}), exampleLog(opinion, erased)).findings).toEqual([])
  })

  test('of one subscription and one delivery are distinguished', () => {
    const changes = exampleLog(
      ['webhook_subscriptions-o', 'WebhookSubscriptionChanged', { subscriptionId: 's1', url: 'http://127.0.0.1:1/a' }],
      ['webhook_subscriptions-o', 'WebhookSubscriptionDisabled', { subscriptionId: 's1' }],
      ['webhook_subscriptions-o', 'WebhookSubscriptionDeleted', { subscriptionId: 's1' }],
      [streamOf('webhook_delivery', 'd1'), 'WebhookRedeliveryUnneeded', { deliveryId: 'd1' }],
    )
    const all = (
      [
        ['readdress', 'http://127.0.0.1:1/a'],
        ['disable', 's1'],
        ['unsubscribe', 's1'],
        ['redeliver', 'd1'],
      ] as const
    ).map(([operation, id]) => ({ ...acknowledged(id, null, operation), operation }))
    expect(checkAcknowledged(all, changes)).toMatchObject({ examined: 4, findings: [] })
    const again = (request: unknown) =>
      exampleLog(
        [streamOf('webhook_delivery', 'd1'), 'WebhookRedeliveryUnneeded', { deliveryId: 'd1' }],
        [streamOf('webhook_delivery', 'd1'), 'WebhookRedeliveryRequested', { deliveryId: 'd1', request }],
      )
    expect(said(checkAcknowledged(all.slice(3), again(null)))).toEqual([])
    expect(said(checkAcknowledged(all.slice(3), again({ key: 'k' })))).toEqual([
      'acknowledged once, but twice in the log',
    ])
    expect(checkUnacknowledged(all, load({}), changes).findings).toEqual([])
    expect(said(checkAcknowledged([{ ...acknowledged('s1'), operation: 'enable' }], changes))).toEqual([
      'acknowledged, but not in the log',
    ])
    expect(said(checkUnacknowledged(all.slice(1), load({}), changes))).toEqual(['in the log, but never acknowledged'])
  })

  test('have only documented answers', () => {
    expect(
      checkAnswers(
        load({
          '201': 2,
          '409 ai-review-not-cancellable': 1,
          '404 not-found of a finished write': 1,
          '410 subject-erased of a task': 2,
          '503 database-unavailable': 4,
          '502 undefined': 3,
          none: 9,
        }),
      ).findings,
    ).toEqual([])
    const wrong = [
      '500 internal-error',
      '401 unauthorized',
      '404 not-found',
      '409 conflict',
      '410 subject-erased',
      'none in time',
      'unreadable',
      '503 undefined without Retry-After',
      '503 database-unavailable without Retry-After',
    ]
    expect(checkAnswers(load(Object.fromEntries(wrong.map((answer) => [answer, 1])))).findings).toHaveLength(
      wrong.length,
    )
    expect(said(checkAnswers(load({}, 1)))).toEqual(['requests without a final answer'])
  })

  test('are compared with the API', async () => {
    const consents = exampleLog([
      streamOf('consent', 'p1'),
      'ConsentRecorded',
      { consentId: 'c1', patientId: 'p1', consentTypeCode: 'ai' },
    ])
    const api = (ids: readonly string[]) => ({
      call: async (path: string) => {
        const id = ids.find((one) => path.endsWith(`/${one}`))
        const body = path.startsWith('/v1/consent-records') ? { record: { id: ids[0] } } : { id }
        return { status: id === undefined && !path.includes('?') ? 404 : 200, headers: new Headers(), body }
      },
    })
    expect(await checkApi(api(['c1', 'p1', 'p2']), [acknowledged('p1'), acknowledged('p2')], consents)).toMatchObject({
      examined: 3,
      findings: [],
    })
    expect((await checkApi(api(['c1', 'p1']), [acknowledged('p1'), acknowledged('p2')], consents)).findings).toEqual([
      { what: 'answered 404 without p2', where: '/v1/clinical-api/patients/p2' },
    ])
    expect((await checkApi(api(['c0', 'p1']), [acknowledged('p1')], consents)).findings).toEqual([
      { what: 'answered 200 without c1', where: '/v1/consent-records?patientId=p1&consentTypeCode=ai' },
    ])
  })
})

describe('the check of ends', () => {
  const [assessment, review, delivery] = [
    streamOf('assessment', 'a1'),
    streamOf('ai_review', 'r1'),
    streamOf('webhook_delivery', 'd1'),
  ]
  const begun = [
    [assessment, 'AssessmentSubmitted'],
    [review, 'AiReviewRequested', { caseId: 'c', productId: 'p' }],
    [delivery, 'WebhookDeliveryScheduled'],
  ] as const
  const ended = [
    [review, 'AiReviewCompleted'],
    [assessment, 'AssessmentCompleted'],
    [delivery, 'WebhookDelivered'],
  ] as const

  test('accepts one end for each', () =>
    expect(checkEndings(exampleLog(...begun, ...ended))).toMatchObject({ examined: 3, findings: [] }))

  test('accepts the end of a successor, and no end without a submit', () => {
    expect(withoutEnd(exampleLog(...begun, [review, 'AiReviewSuperseded'], ended[1], ended[2]))).toEqual([])
    expect(
      withoutEnd(exampleLog([assessment, 'AssessmentRequested'], [assessment, 'AssessmentUploadsAwaited'])),
    ).toEqual([])
  })

  test('finds missing ends', () => {
    const log = exampleLog(...begun)
    expect(withoutEnd(log)).toEqual([assessment, review, delivery])
    expect(said(checkEndings(log))).toEqual(['no end', 'no end', 'no end'])
    expect(underWay(log)).toEqual([assessment, review, delivery])
  })

  test('finds a second end, and an event after the end', () => {
    expect(said(checkEndings(exampleLog(...begun, ...ended, [assessment, 'AssessmentFailed'])))).toEqual([
      'a second end',
    ])
    expect(said(checkEndings(exampleLog(...begun, ...ended, [review, 'AiReviewCancelled'])))).toEqual(['a second end'])
    expect(
      said(
        checkEndings(
          exampleLog(...begun, [review, 'AiReviewSuperseded'], [review, 'AiReviewSuperseded'], ...ended.slice(1)),
        ),
      ),
    ).toEqual(['a second end'])
    const reviewed = exampleLog(...begun, ...ended, [assessment, 'AssessmentHumanReviewOpened'])
    expect(said(checkEndings(reviewed))).toEqual([])
    expect(said(checkEndings(exampleLog(...begun, ...ended, [assessment, 'AssessmentReviewRenewed'])))).toEqual([
      'an event after the end',
    ])
  })

  test('expects one end in each round of a delivery', () => {
    const again = [delivery, 'WebhookRedeliveryRequested'] as const
    expect(
      checkEndings(
        exampleLog(...begun, ...ended, again, [delivery, 'WebhookDeliveryAttempted'], [delivery, 'WebhookDelivered']),
      ),
    ).toMatchObject({ examined: 4, findings: [] })
    expect(withoutEnd(exampleLog(...begun, ...ended, again))).toEqual([delivery])
    expect(said(checkEndings(exampleLog(...begun, ...ended, [delivery, 'WebhookDelivered'])))).toEqual(['a second end'])
    expect(said(checkEndings(exampleLog(...begun, ...ended, [delivery, 'WebhookDeliveryAttempted'])))).toEqual([
      'an event after the end',
    ])
  })

  test('accepts one late result and late requests after a cancelled delivery', () => {
    const cancelled = [...begun, ...ended.slice(0, 2), [delivery, 'WebhookDeliveryCancelled']] as const
    const late = ['WebhookDelivered', 'WebhookDeliveryFailed', 'WebhookDeliveryAttemptFailed'].map(
      (type) => [delivery, type] as const,
    )
    for (const one of late) expect(said(checkEndings(exampleLog(...cancelled, one)))).toEqual([])
    expect(said(checkEndings(exampleLog(...cancelled, [delivery, 'WebhookRedeliveryUnneeded'])))).toEqual([])
    expect(said(checkEndings(exampleLog(...cancelled, ...late.slice(0, 2))))).toEqual(['a second end'])
    expect(said(checkEndings(exampleLog(...cancelled, [delivery, 'WebhookDeliveryCancelled'])))).toEqual([
      'a second end',
    ])
  })

  test('accepts one active review per case', () => {
    const second = [streamOf('ai_review', 'r2'), 'AiReviewRequested', { caseId: 'c', productId: 'p' }] as const
    expect(checkSlots(exampleLog(...begun, [review, 'AiReviewSuperseded'], second))).toMatchObject({
      examined: 1,
      findings: [],
    })
    expect(said(checkSlots(exampleLog(...begun, second)))).toEqual(['a second active review of a case'])
  })
})

describe('outcomes', () => {
  const ended = (count: number, code?: string) =>
    Array.from(
      { length: count },
      (_, index) =>
        [
          streamOf('assessment', `${code ?? 'done'} ${index}`),
          code === undefined ? 'AssessmentCompleted' : 'AssessmentFailed',
          { code },
        ] as const,
    )

  test('accepts failures that clients requested', () => {
    expect(
      checkOutcomes(exampleLog(...ended(9), ...ended(1, 'ANALYSIS_FAILED'), ...ended(30, 'CANCELLED'))),
    ).toMatchObject({ examined: 10, findings: [] })
    expect(outcomesOf(exampleLog(...ended(2), ...ended(1, 'CANCELLED')))).toEqual({ completed: 2, CANCELLED: 1 })
  })

  test('finds too many failures, and a run without a completed assessment', () => {
    expect(said(checkOutcomes(exampleLog(...ended(8), ...ended(1, 'ANALYSIS_FAILED'))))).toEqual(['too few completed'])
    expect(said(checkOutcomes(exampleLog(...ended(3, 'CANCELLED'))))).toEqual(['too few completed'])
  })
})

describe('read models', () => {
  const table = (rows: Readonly<Record<string, string>>, name = 'x.rows'): TableContent => ({
    table: name,
    rows: new Map(Object.entries(rows)),
  })

  test('are accepted when they equal a rebuild', () =>
    expect(checkReadModels([table({ a: '1', b: '2' })], [table({ b: '2', a: '1' })])).toMatchObject({
      examined: 2,
      findings: [],
    }))

  test.each<readonly [string, readonly TableContent[], string]>([
    ['lack a row', [table({ a: '1' })], 'a row that only a rebuild has'],
    ['have an additional row', [table({ a: '1', b: '2', c: '3' })], 'a row that a rebuild does not have'],
    ['have other values in a row', [table({ a: '1', b: '3' })], 'a row with other values than in a rebuild'],
    ['lack a table', [], 'a table that only one of the two has'],
  ])('are found where they %s', (_, live, what) =>
    expect(said(checkReadModels(live, [table({ a: '1', b: '2' })]))).toEqual([what]),
  )
})
