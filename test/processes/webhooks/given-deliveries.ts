import { afterAll, beforeAll, beforeEach } from 'vitest'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import type { DeliverPayload } from '../../../processes/webhooks/delivery-target.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { processDependencies } from '../../support/process-world.ts'
import { failedAssessment, GivenDelivery, subscribe, type Subscribed } from './webhook-steps.ts'

/** The parts for a file about deliveries: an assessment that failed, a receiver, and a new subscription for each test. */
export interface GivenDeliveries {
  readonly world: DecisionWorld
  readonly egress: Egress
  readonly deps: ProcessDependencies
  readonly receiver: WebhookReceiver
  readonly subscription: Subscribed
  /** The status of the receiver's answers. */
  status: number
  /** A delivery that is due now. Default: of the test's subscription. */
  readonly due: (of?: Subscribed, changes?: Partial<DeliverPayload>, using?: ProcessDependencies) => GivenDelivery
  /** RFC 3339. */
  readonly later: (ms: number) => string
}

/** Opens the world before the tests of a file and closes it after them. `status` is that of the first answers. */
export function givenDeliveries(status = 204): GivenDeliveries {
  let parts: Pick<GivenDeliveries, 'world' | 'egress' | 'deps' | 'receiver'> | undefined
  let subscription: Subscribed | undefined
  const given: GivenDeliveries = {
    get world() {
      return opened(parts).world
    },
    get egress() {
      return opened(parts).egress
    },
    get deps() {
      return opened(parts).deps
    },
    get receiver() {
      return opened(parts).receiver
    },
    get subscription() {
      return opened(subscription)
    },
    status,
    due: (of = given.subscription, changes = {}, using = given.deps) =>
      new GivenDelivery(given.world, using, of.subscriptionId, changes),
    later: (ms) => new Date(given.world.now().getTime() + ms).toISOString(),
  }
  beforeAll(async () => {
    const world = await openDecisionWorld()
    const receiver = await startWebhookReceiver(() => given.status)
    const egress = createEgress({ configuration: world.configuration })
    parts = { world, receiver, egress, deps: processDependencies(world, egress) }
    await failedAssessment(world)
  })
  afterAll(async () => {
    await parts?.egress.close()
    await parts?.receiver.close()
    await parts?.world.close()
  })
  beforeEach(async () => {
    given.status = status
    subscription = await subscribe(given.world, { url: given.receiver.url })
  })
  return given
}

function opened<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('the world of deliveries is not open yet')
  return part
}
