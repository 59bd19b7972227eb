import { toReviewImages } from '../../commands/ai-review/image-addresses.ts'
import { rejectErased } from '../../commands/foreign-events/record-foreign-event.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { foreignEvents } from '../../streams/foreign-event/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'
import { derivedV7 } from '../../engine/processes/step-identity.ts'
import { takeSlotAndOpen } from './claim.steps.ts'
import { requestIn } from './foreign-addresses.ts'

/**
 * Takes the slot for a request of another service. Such a request names no patient, so no key can seal its addresses
 * yet. The start job takes them over from the foreign event when the case has supplied the patient.
 */
export const claimForeign: ProcessStep = async (todo, deps, step) => {
  const target = foreignEvents.of(todo.key)
  const { state } = await deps.store.load(target)
  if (state.status === 'received' && state.data === null) {
    const command = { now: step.now() }
    const context = todo.command('ai-review.reject-erased')
    return appends(deps.store, target, (current) => rejectErased(command, current), context)
  }
  const request = requestIn(state)
  if (request === undefined) return { kind: 'done' }
  const command = {
    aiReviewId: derivedV7(todo.key, todo.dueAt),
    caseId: request.caseId.toLowerCase(),
    productId: request.productId.toLowerCase(),
    orgId: todo.orgId,
    patientId: null,
    correlationId: request.correlationId ?? null,
    images: toReviewImages(request.images).images,
    addresses: null,
    requestEventId: todo.key,
    now: todo.dueAt,
  }
  return takeSlotAndOpen(todo, command, deps)
}
