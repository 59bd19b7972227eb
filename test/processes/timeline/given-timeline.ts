import { subscribe } from '../webhooks/webhook-steps.ts'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { openTimeline, type Timeline, type TimelineOptions } from './timeline.ts'

/**
 * The parts for a file about instants: a world with its own node and read models, a receiver of every end, and the timeline of
 * the running test. It continues at the end of the test before.
 */
export interface GivenTimeline {
  readonly world: ProcessWorld
  readonly receiver: WebhookReceiver
  readonly timeline: Timeline
  /** Opens the timeline of a test. It is closed after the test. */
  open(options?: TimelineOptions): Promise<void>
}

/** Opens the world before the tests of a file and closes it after them. Services and provider are reset for each test. */
export function givenTimeline(): GivenTimeline {
  let world: ProcessWorld | undefined
  let receiver: WebhookReceiver | undefined
  let database: FreshDatabase | undefined
  let pool: Pool | undefined
  let timeline: Timeline | undefined
  const given = {
    get world() {
      return opened(world, 'world')
    },
    get receiver() {
      return opened(receiver, 'receiver')
    },
    get timeline() {
      return opened(timeline, 'timeline')
    },
    open: async (options: TimelineOptions = {}) => {
      timeline = await openTimeline(given.world, opened(pool, 'database'), options)
    },
  }
  beforeAll(async () => {
    world = await openProcessWorld({ hasOwnNode: true })
    receiver = await subscribeReceiver(world)
    database = await freshDatabase()
    pool = createPool({ url: database.url, max: 12 })
  })
  afterAll(async () => {
    await receiver?.close()
    await world?.close()
    await pool?.end()
    await database?.drop()
  })
  beforeEach(() => given.world.reset())
  afterEach(async () => {
    await timeline?.close()
    timeline = undefined
  })
  return given
}

function opened<Part>(part: Part | undefined, name: string): Part {
  if (part === undefined) throw new Error(`the ${name} is not open yet`)
  return part
}

/** A receiver of every assessment's end. */
async function subscribeReceiver(world: ProcessWorld): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver()
  await subscribe(world, { url: receiver.url })
  return receiver
}
