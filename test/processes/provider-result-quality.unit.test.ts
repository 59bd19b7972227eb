import { expect, it } from 'vitest'
import { readProviderResult } from '../../processes/ai-review/provider-result.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { reviewFact as fact } from '../streams/ai-review-facts.ts'
import { ids } from '../streams/facts.ts'
import { given } from '../support/given-decider.ts'

const [suitable, unsuitable] = ['IMAGE_QUALITY_SUITABLE', 'IMAGE_QUALITY_UNSUITABLE']

function qualitiesOf(...images: { imageId: number; imageQuality: string | null }[]) {
  const sent = [fact('AiReviewImageSent'), fact('AiReviewImageSent', { imageId: ids.secondImage, providerImageId: 72 })]
  const { state } = given(
    aiReviews,
    fact('AiReviewRequested'),
    fact('AiReviewProviderCaseCreated'),
    ...sent,
    fact('AiReviewProcessingAccepted'),
  )
  if (state.status !== 'awaiting_result') throw new Error('the review awaits nothing')
  const answer = readProviderResult(JSON.stringify({ status: 'STATUS_PROCESSED', images }), state)
  if (answer.kind !== 'processed') throw new Error('not processed')
  return answer.result.imageQuality.map(({ quality }) => quality)
}

const other = { imageId: 72, imageQuality: suitable }

it.each([
  ['last', [suitable, unsuitable]],
  ['first', [unsuitable, suitable]],
  ['between', [suitable, unsuitable, suitable]],
  ['before a missing one', [unsuitable, null]],
])('an image with several entries is unsuitable if one of them is: %s', (_, qualities) => {
  const images = qualities.map((imageQuality) => ({ imageId: 71, imageQuality: imageQuality ?? null }))
  expect(qualitiesOf(...images, other)).toEqual([unsuitable, suitable])
  expect(qualitiesOf(other, ...images)).toEqual([unsuitable, suitable])
})
