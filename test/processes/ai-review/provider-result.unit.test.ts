import { array, assert, constantFrom, jsonValue, oneof, property, record, type Arbitrary } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readProviderResult } from '../../../processes/ai-review/provider-result.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { aiReviews, type AwaitingReview } from '../../../streams/ai-review/aggregate.ts'
import { lesion, reviewFact as fact } from '../../streams/ai-review-facts.ts'
import { ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

function awaitingReview(): AwaitingReview {
  const sent = [fact('AiReviewImageSent'), fact('AiReviewImageSent', { imageId: ids.secondImage, providerImageId: 72 })]
  const { state } = given(
    aiReviews,
    fact('AiReviewRequested'),
    fact('AiReviewProviderCaseCreated'),
    ...sent,
    fact('AiReviewProcessingAccepted'),
  )
  if (state.status !== 'awaiting_result') throw new Error('the review awaits nothing')
  return state
}

const review = awaitingReview()
const { lesionNumber, providerLesionId, ...found } = lesion
const payload = {
  status: 'STATUS_PROCESSED',
  analysisStatus: 'DONE',
  analysisResult: 'SUCCESSFUL_PROCESSING',
  processingType: 'STANDARD',
  lesionCount: 1,
  reportDate: Date.parse('2026-03-01T10:00:17.000Z'),
  sensitivitySet: null,
  assessedByProviderVersion: '4.2',
  images: [
    { imageId: 72, imageQuality: 'IMAGE_QUALITY_UNSUITABLE' },
    { imageId: 71, imageQuality: 'IMAGE_QUALITY_SUITABLE' },
  ],
  lesions: [{ ...found, lesionNumber, lesionId: providerLesionId, suspectedDiagnosis: 'Naevus', unheardOf: true }],
}

function read(changes: Record<string, unknown> = {}) {
  const answer = readProviderResult(JSON.stringify({ ...payload, ...changes }), review)
  if (answer.kind !== 'processed') throw new Error('not processed')
  return answer.result
}

/** The objections of the event's schema to a result. */
function refusals(result: ReturnType<typeof read>) {
  return catalogue.entry('AiReviewCompleted')?.refusals({ ...fact('AiReviewCompleted').data, ...result })
}

describe("the provider's result", () => {
  it('is read with the members of the specification', () => {
    const {
      aiReviewId: _,
      attemptCount: _count,
      aiProvider: _provider,
      rawResponse: _raw,
      answered: _answered,
      completedAt: _at,
      ...result
    } = fact('AiReviewCompleted').data
    const quality = [
      { imageId: ids.image, quality: 'IMAGE_QUALITY_SUITABLE' },
      { imageId: ids.secondImage, quality: 'IMAGE_QUALITY_UNSUITABLE' },
    ]
    expect(read()).toEqual({ ...result, imageQuality: quality })
    expect(refusals(read())).toEqual([])
  })

  it.each([{ status: 'STATUS_PROCESSING' }, { status: 'status_processed' }, { status: null }, { status: 1 }])(
    'is missing with $status',
    (changes) => {
      expect(readProviderResult(JSON.stringify({ ...payload, ...changes }), review)).toEqual({ kind: 'not-processed' })
    },
  )

  it.each(['null', '[]', '"STATUS_PROCESSED"', '7', '{}', '{"__proto__":{"status":"STATUS_PROCESSED"}}'])(
    'is missing in %s',
    (text) => {
      expect(readProviderResult(text, review)).toEqual({ kind: 'not-processed' })
    },
  )

  it.each([
    ['STATUS_PROCESSED', 'processed'],
    ['STATUS_PROCESSING', 'not-processed'],
  ])('without a status of the answer has that of the analysis: %s', (analysisStatus, kind) => {
    const answer = JSON.stringify({ ...payload, status: undefined, analysisStatus })
    expect(readProviderResult(answer, review).kind).toBe(kind)
  })

  it('is read from names with an escape, also after similar names without one', () => {
    for (const _ of [1, 2, 3]) {
      // V8 may confuse the name with this one: https://github.com/nodejs/node/issues/63785.
      JSON.parse('{"of a review":0,"\\\\u0073":1}')
      expect(readProviderResult('{"of a review":0,"\\u0073tatus":"STATUS_PROCESSED"}', review).kind).toBe('processed')
    }
  })

  it('has a quality for every image of the request, in its order; null if the answer has none', () => {
    expect(read({ images: [] }).imageQuality.map(({ quality }) => quality)).toEqual([null, null])
    expect(
      read({
        images: [
          { imageId: 99, imageQuality: 'X' },
          { imageId: '71', imageQuality: 'X' },
        ],
      }).imageQuality.map(({ quality }) => quality),
    ).toEqual([null, null])
  })

  it('numbers the lesions itself if the provider repeats numbers, starts from zero or gives none', () => {
    const numbers = (...given: unknown[]) =>
      read({ lesions: given.map((number) => ({ ...found, lesionNumber: number })) }).lesions.map(
        (each) => each.lesionNumber,
      )
    expect(numbers(3, 1)).toEqual([3, 1])
    expect(numbers(2, 2)).toEqual([1, 2])
    expect(numbers(0, 1)).toEqual([1, 2])
    expect(numbers(1, null)).toEqual([1, 2])
    expect(numbers(1.5, 2 ** 40)).toEqual([1, 2])
  })

  it('reads members of another type or range as null, never as another value', () => {
    expect(read({ reportDate: '2026-03-01' }).reportDate).toBeNull()
    for (const reportDate of [8.64e15, 1e300, -1e15]) expect(read({ reportDate }).reportDate).toBeNull()
    expect(read({ lesionCount: -1 }).lesionCount).toBe(1)
    expect(read({ lesions: null, lesionCount: 2 })).toMatchObject({ lesions: [], lesionCount: 2 })
    const odd = {
      ...found,
      category: 7,
      priority: '1',
      coordinates: { x1: 1, y1: 2, x2: 3 },
      referralFlag: ['URGENT'],
      lesionId: 2 ** 31,
    }
    expect(read({ lesions: [odd] }).lesions[0]).toMatchObject({
      category: null,
      priority: null,
      coordinates: null,
      referralFlag: null,
      providerLesionId: 0,
    })
  })

  it('can be recorded for any answer', () => {
    const anything = (...usual: readonly unknown[]): Arbitrary<unknown> => oneof(constantFrom(...usual), jsonValue())
    const lesions = record({
      lesionNumber: anything(1, 2, 2 ** 31),
      lesionId: anything(9, 2 ** 31),
      category: anything('Benign'),
      priority: anything(1, -(2 ** 31) - 1),
      coordinates: anything({ x1: 1, y1: 1, x2: 2, y2: 2 }),
    })
    const hostile = record({
      analysisResult: anything('SUCCESSFUL_PROCESSING'),
      analysisStatus: anything('DONE'),
      lesionCount: anything(1, 2 ** 31),
      reportDate: anything(0, 1e300),
      sensitivitySet: anything(null),
      images: oneof(jsonValue(), array(record({ imageId: anything(71), imageQuality: anything('X') }))),
      lesions: oneof(jsonValue(), array(lesions)),
    })
    assert(
      property(hostile, (changes) => {
        expect(refusals(read(changes))).toEqual([])
      }),
    )
  })
})
