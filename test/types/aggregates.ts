/**
 * Mistakes that must not compile. `tsc` fails on an `@ts-expect-error` line without an error, so each line is a test.
 */
import { randomUUID } from 'node:crypto'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { consentEvents, type ConsentEvent } from '../../streams/consent/events.ts'
import { consents } from '../../streams/consent/aggregate.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'

const orgId = tenantOfFact(randomUUID())
const id: string = randomUUID()

export const streams = [
  consents.of(orgId, id),
  // @ts-expect-error organisation and id are swapped
  consents.of(id, orgId),
  // @ts-expect-error the organisation is an unchecked string
  consents.of(id, id),
  // @ts-expect-error the slot needs a product
  aiReviewSlots.of(orgId, id),
  // @ts-expect-error one stream per organisation takes no id
  webhookSubscriptions.of(orgId, id),
]

const evolve = (count: number, _: ConsentEvent): number => count + 1

export const aggregates = [
  defineAggregate({ category: 'planted', id: idOfOrganisation, events: consentEvents, initialState: 0, evolve }),
  // @ts-expect-error the initial state is not of the type that evolve takes
  defineAggregate({ category: 'planted', id: idOfOrganisation, events: consentEvents, initialState: '0', evolve }),
  defineAggregate({
    category: 'planted',
    id: idOfOrganisation,
    events: consentEvents,
    initialState: 0,
    // @ts-expect-error the aggregate has no such event
    evolve: (count: number, event: ConsentEvent) => (event.type === 'ConsentRecorder' ? count + 1 : count),
  }),
]
