import { describe, expect, test } from 'vitest'
import type { ProviderCall } from '../../support/provider.ts'
import { checkProviderCalls } from '../../../tools/torture/checks/provider.ts'
import { streamOf, exampleLog } from '../../../tools/torture/example-log.ts'

const review = streamOf('ai_review', 'r1')
type ExampleEvent = readonly [string, string, Readonly<Record<string, unknown>>]
const attempt = (call: string, imageId: string | null = null): ExampleEvent => [
  review,
  'AiReviewCallAttempted',
  { call, imageId },
]
const fact = (type: string, data: Readonly<Record<string, unknown>> = {}): ExampleEvent => [review, type, data]
const opened = (providerCaseId: number) => fact('AiReviewProviderCaseCreated', { providerCaseId })
const sent = (imageId: string) => fact('AiReviewImageSent', { imageId })
const call = (name: string, caseId = 1, sha256?: string): ProviderCall => ({
  call: name,
  status: 200,
  caseId,
  ...(sha256 === undefined ? {} : { sha256 }),
})

const start = [attempt('case'), opened(1), attempt('image', 'i1'), sent('i1')]
const rest = [
  attempt('process'),
  fact('AiReviewProcessingAccepted'),
  attempt('result'),
  fact('AiReviewPollDeferred'),
  attempt('result'),
  fact('AiReviewCompleted'),
]
const calls = [call('login'), call('case'), call('image', 1, 'x'), call('process'), call('result'), call('result')]
const said = (events: readonly ExampleEvent[], heard = calls) =>
  checkProviderCalls(exampleLog(...events), heard).findings.map(({ what }) => what)

describe('the check of provider calls accepts', () => {
  test('one call for each effect', () =>
    expect(checkProviderCalls(exampleLog(...start, ...rest), calls)).toMatchObject({ examined: 5, findings: [] }))

  test('a repeat after a crash with an unknown result', () => {
    expect(said([attempt('case'), ...start, ...rest])).toEqual([])
    const anew = [
      attempt('case'),
      opened(1),
      attempt('image', 'i1'),
      attempt('case'),
      opened(2),
      attempt('image', 'i1'),
      sent('i1'),
      ...rest,
    ]
    expect(
      said(
        anew,
        [...calls, call('case', 2), call('image', 2, 'x'), call('process', 2)].filter(
          (one) => one.call !== 'process' || one.caseId === 2,
        ),
      ),
    ).toEqual([])
    expect(said([...start, attempt('process'), ...rest], [...calls, call('process')])).toEqual([])
    const deferred = fact('AiReviewStartDeferred', { abandonsProviderCase: true })
    expect(
      said([
        attempt('case'),
        opened(1),
        attempt('image', 'i1'),
        deferred,
        attempt('case'),
        opened(2),
        attempt('image', 'i1'),
        sent('i1'),
        ...rest,
      ]),
    ).toEqual([])
  })
})

describe('the check finds', () => {
  test.each<readonly [string, readonly ExampleEvent[], string]>([
    [
      'an unnecessary second case',
      [attempt('case'), opened(1), attempt('case'), opened(2), attempt('image', 'i1'), sent('i1'), ...rest],
      'an unnecessary second provider case',
    ],
    [
      'an unknown case that is continued',
      [attempt('case'), opened(1), attempt('image', 'i1'), attempt('image', 'i1'), sent('i1'), ...rest],
      'an unknown provider case is continued',
    ],
    [
      'an image sent again',
      [...start, attempt('image', 'i1'), sent('i1'), ...rest],
      'an image that the provider already has',
    ],
    [
      'processing after it was accepted',
      [...start, ...rest.slice(0, 2), attempt('process'), fact('AiReviewCompleted')],
      'a step from before the accepted processing',
    ],
    ['a call after the end', [...start, ...rest, attempt('result')], 'a provider call after the end'],
  ])('%s', (_, events, what) => expect(said(events, [])).toEqual([what]))

  test('calls without a recorded attempt', () => {
    expect(said([...start, ...rest], [...calls, call('case', 2)])).toEqual(['more calls than attempts on record'])
    expect(said([...start, ...rest], [...calls, call('process')])).toEqual([
      'more calls than attempts on record',
      'processing requested 2 times in 1 attempts',
    ])
  })

  test('an image that was sent twice in one provider case', () => {
    expect(said([attempt('image', 'i0'), ...start, ...rest], [...calls, call('image', 1, 'x')])).toContain(
      'an image sent 2 times in one provider case',
    )
  })

  test('no violation in refused calls', () => {
    expect(
      said([...start, ...rest], [...calls, { call: 'case', status: 401 }, { call: 'process', status: 500, caseId: 1 }]),
    ).toEqual([])
  })
})
