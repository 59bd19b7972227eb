import type { LookupAddress } from 'node:dns'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { watchConnectionAttempts, type ConnectionAttempts } from '../../platform/outbound/connection-attempts.ts'
import {
  forbiddenEverywhere,
  forbiddenInProduction,
  type ForbiddenSpelling,
} from '../../platform/outbound/egress-corpus.ts'
import { processDependencies, startOutsideServer } from '../../support/process-world.ts'
import { failedAssessment, GivenDelivery, subscribe } from './webhook-steps.ts'

let world: DecisionWorld
let attempts: ConnectionAttempts

/** Event store and vault are on loopback, too. They may be connected again. */
let own: ReadonlySet<string>
const forbidden = () => attempts.made.filter((attempt) => !own.has(attempt))

beforeAll(async () => {
  const opening = watchConnectionAttempts()
  world = await openDecisionWorld()
  await failedAssessment(world)
  opening.stop()
  own = new Set(opening.made)
})
afterAll(() => world.close())
beforeEach(() => {
  attempts = watchConnectionAttempts()
})
afterEach(() => attempts.stop())

const addressesOf = (addresses: readonly string[]): LookupAddress[] =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

/** The logged outcome of a delivery to an address. The test decides how names resolve. */
async function deliveredTo(url: string, env: Environment, resolvesTo: () => readonly string[]) {
  const configuration = loadConfiguration(env)
  const egress = createEgress({ configuration, resolve: async () => addressesOf(resolvesTo()) })
  try {
    const { subscriptionId } = await subscribe(world, { url })
    const delivery = new GivenDelivery(world, processDependencies({ ...world, configuration }, egress), subscriptionId)
    await delivery.work()
    const events = await delivery.events()
    const last = await delivery.last()
    const errorClass = last?.type === 'WebhookDeliveryAttemptFailed' ? last.data.errorClass : last?.type
    return { errorClass, log: JSON.stringify(events.map(({ data, metadata }) => ({ data, metadata }))) }
  } finally {
    await egress.close()
  }
}

/** Every twelfth of each kind of spelling, and the last. The egress has a test of all. */
const some = ([what, spellings]: readonly [string, readonly ForbiddenSpelling[]]) =>
  [what, spellings.filter((_, place) => place % 12 === 0 || place === spellings.length - 1)] as const

async function wronglySent(
  env: Environment,
  expected: string,
  spellings: readonly ForbiddenSpelling[],
): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const { url, resolvesTo } of spellings) {
    const { errorClass, log } = await deliveredTo(url, env, () => resolvesTo ?? ['8.8.8.8'])
    if (errorClass !== expected) wrong.push(`${url}: ${errorClass}`)
    for (const secret of [url, ...(resolvesTo ?? [])])
      if (secret.length > 6 && log.includes(secret)) wrong.push(`${url} is in the log`)
  }
  return wrong
}

describe('a delivery in production opens no socket to', () => {
  it.each(forbiddenInProduction.map(some))('%s', async (_, spellings) => {
    expect(await wronglySent({ APP_ENV: 'production' }, 'connection_failed', spellings)).toEqual([])
    expect(forbidden()).toEqual([])
  })
})

describe('a delivery in development opens no socket to', () => {
  it.each(forbiddenEverywhere.map(some))('%s', async (_, spellings) => {
    expect(await wronglySent({ APP_ENV: 'development' }, 'address_forbidden', spellings)).toEqual([])
    expect(forbidden()).toEqual([])
  })
})

it('a tenant cannot distinguish an unknown name, a closed port, an internal address and an own server in production', async () => {
  const server = await startOutsideServer(() => ({ status: 200 }))
  try {
    const port = Number(new URL(server.url).port)
    const unresolved = (): never => {
      throw Object.assign(new Error('none'), { code: 'ENOTFOUND' })
    }
    const env = {
      APP_ENV: 'production',
      EGRESS_ALLOW: '127.0.0.1',
      ESDB_URL: `esdb://platform:secret@127.0.0.1:${port}`,
    }
    const targets: [url: string, resolvesTo: () => readonly string[]][] = [
      ['http://nowhere.test/', unresolved],
      ['http://127.0.0.1:1/', () => []],
      ['http://inside.test/', () => ['10.0.0.1']],
      [server.url, () => []],
      [`http://ours.test:${port}/`, () => ['127.0.0.1']],
    ]
    const errorClasses = await Promise.all(
      targets.map(async ([url, resolvesTo]) => (await deliveredTo(url, env, resolvesTo)).errorClass),
    )
    expect(errorClasses).toEqual(targets.map(() => 'connection_failed'))
    const development = await Promise.all(
      targets.map(
        async ([url, resolvesTo]) =>
          (await deliveredTo(url, { ...env, APP_ENV: 'development' }, resolvesTo)).errorClass,
      ),
    )
    expect(development).toEqual(['dns', 'connect', expect.any(String), 'address_forbidden', 'address_forbidden'])
    expect(server.asked).toEqual([])
  } finally {
    await server.close()
  }
})

it('a name that resolves to an internal address after its subscription is not called', async () => {
  const server = await startOutsideServer(() => ({ status: 500 }))
  try {
    const { port } = new URL(server.url)
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const env = { APP_ENV: 'production', EGRESS_ALLOW: '127.0.0.1' }
    const first = await deliveredTo(`http://hooks.test:${port}/`, env, () => answers.shift() ?? ['127.0.0.2'])
    expect(first.errorClass).toBe('http_status')
    const second = await deliveredTo(`http://hooks.test:${port}/`, env, () => answers.shift() ?? ['127.0.0.2'])
    expect(second.errorClass).toBe('connection_failed')
    expect(server.asked).toHaveLength(1)
    expect(new Set(forbidden())).toEqual(new Set([`127.0.0.1 ${port}`]))
  } finally {
    await server.close()
  }
})
