import { aiReviewAccesses } from '../../streams/ai-review-access/aggregate.ts'
import { writeProbes } from '../../streams/write-probe/aggregate.ts'
import { accessFact } from '../../test/streams/ai-review-facts.ts'
import { writeProbeFact } from '../../test/streams/facts.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import type { Story } from './story.ts'

/** A client reads the response of the provider. The probe stands for events that no projector reads. */
export function readRawResponse(story: Story, random: SeededRandom): void {
  if (story.reviews.length === 0) return
  const { id: aiReviewId, orgId } = random.pick(story.reviews)
  const read = accessFact('AiReviewRawRead', { aiReviewId, readAt: story.instant(random) })
  story.append(orgId, aiReviewAccesses.of(orgId, aiReviewId).stream, read)
  if (random.oneIn(2)) story.append(orgId, writeProbes.of(story.id(random)).stream, writeProbeFact('WriteProbed'))
}
