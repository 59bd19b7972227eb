import type { LookupAddress } from 'node:dns'
import { createServer, type RequestListener } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfiguration, type Environment } from '../../../platform/configuration/configuration.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import type { EgressPurpose } from '../../../platform/outbound/exempt-addresses.ts'
import { EgressError } from '../../../platform/outbound/egress-error.ts'
import { checkOutboundUrl, parseEgressAllow } from '../../../platform/outbound/addresses.ts'
import { watchConnectionAttempts, type ConnectionAttempts } from './connection-attempts.ts'
import { forbiddenEverywhere, forbiddenInProduction, type ForbiddenSpelling } from './egress-corpus.ts'

const limits = { timeoutMs: 5000, maxBytes: 1000 }
const production = { APP_ENV: 'production' }
const closers: (() => Promise<unknown>)[] = []
let attempts: ConnectionAttempts

beforeEach(() => {
  attempts = watchConnectionAttempts()
})
afterEach(async () => {
  attempts.stop()
  for (const close of closers.splice(0).toReversed()) await close()
})

function addressesOf(addresses: readonly string[]): LookupAddress[] {
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

function open(env: Environment, resolve: (host: string) => readonly string[]): Egress {
  const egress = createEgress({
    configuration: loadConfiguration(env),
    resolve: async (host) => addressesOf(resolve(host)),
  })
  closers.push(() => egress.close())
  return egress
}

async function serve(listener: RequestListener, host = '127.0.0.1', port = 0): Promise<number> {
  const server = createServer(listener)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  closers.push(
    () =>
      new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      }),
  )
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function outcomeOf(egress: Egress, url: string, purpose: EgressPurpose = 'webhook'): Promise<string> {
  try {
    const response = await egress.request(url, { purpose, ...limits })
    return `${response.status} ${await response.text()}`
  } catch (error) {
    return error instanceof EgressError ? error.code : String(error)
  }
}

/** Of a name outside the corpus. */
const onTheInternet = ['8.8.8.8']

/** The spellings that are not refused as expected. */
async function admitted(
  profile: 'development' | 'production',
  spellings: readonly ForbiddenSpelling[],
): Promise<readonly string[]> {
  const wrong: string[] = []
  let addresses: readonly string[] = []
  const egress = open({ APP_ENV: profile }, () => addresses)
  for (const { url, resolvesTo } of spellings) {
    addresses = resolvesTo ?? onTheInternet
    for (const purpose of ['webhook', 'image', 'service', 'provider'] as const) {
      const outcome = await outcomeOf(egress, url, purpose)
      if (outcome !== 'address_forbidden') wrong.push(`${JSON.stringify(url)} as ${purpose}: ${outcome}`)
    }
    const written = checkOutboundUrl(url, { profile, allow: parseEgressAllow([]) })
    if ('url' in written && resolvesTo === undefined) wrong.push(`${JSON.stringify(url)} may be written down`)
  }
  return wrong
}

it('the corpus has its size, and no spelling twice', () => {
  const all = forbiddenInProduction.flatMap(([, spellings]) => spellings.map(({ url }) => url))
  expect(new Set(all).size).toBe(all.length)
  expect(all.length).toBeGreaterThanOrEqual(300)
  expect(forbiddenEverywhere.flatMap(([, spellings]) => spellings).length).toBeGreaterThanOrEqual(100)
})

it('the watch records a connection attempt, so no record means no attempt', async () => {
  const port = await serve((_, response) => response.end('ok'))
  expect(
    await outcomeOf(
      open({}, () => ['127.0.0.1']),
      `http://hooks.test:${port}/`,
    ),
  ).toBe('200 ok')
  expect(attempts.made).toEqual([`127.0.0.1 ${port}`])
})

describe('production neither calls nor accepts', () => {
  it.each(forbiddenInProduction)('%s', async (_, spellings) => {
    expect(await admitted('production', spellings)).toEqual([])
    expect(attempts.made).toEqual([])
  })
})

describe('development neither calls nor accepts', () => {
  it.each(forbiddenEverywhere)('%s', async (_, spellings) => {
    expect(await admitted('development', spellings)).toEqual([])
    expect(attempts.made).toEqual([])
  })
})

it.each(forbiddenEverywhere)('EGRESS_ALLOW never allows %s', async (what, spellings) => {
  // A site may allow addresses outside the internet if it uses them.
  if (what.startsWith('addresses that are none')) expect(spellings.length).toBeGreaterThan(10)
  else {
    const EGRESS_ALLOW =
      '169.254.0.0/16,168.63.129.16,100.64.0.0/10,192.0.0.0/24,fe80::/10,fd00::/8,metadata.google.internal'
    let addresses: readonly string[] = []
    const egress = open({ ...production, EGRESS_ALLOW }, () => addresses)
    const outcomes = new Set<string>()
    for (const { url, resolvesTo } of spellings) {
      addresses = resolvesTo ?? onTheInternet
      outcomes.add(await outcomeOf(egress, url))
    }
    expect(outcomes).toEqual(new Set(['address_forbidden']))
  }
  expect(attempts.made).toEqual([])
})

/** 127.0.0.1 stands for the internet here, because EGRESS_ALLOW contains it; 127.0.0.2 is inside the site. */
describe('a name that changes its addresses', () => {
  const allowing = { ...production, EGRESS_ALLOW: '127.0.0.1' }

  async function twoServers(): Promise<{ port: number; visits: string[] }> {
    const visits: string[] = []
    const port = await serve((_, response) => {
      visits.push('public')
      response.setHeader('connection', 'close').end('public')
    }, '127.0.0.1')
    await serve(
      (_, response) => {
        visits.push('private')
        response.end('private')
      },
      '127.0.0.2',
      port,
    )
    return { port, visits }
  }

  it('is resolved once per connection, and the connection goes to the checked address', async () => {
    const { port, visits } = await twoServers()
    let lookups = 0
    const egress = open(allowing, () => (++lookups === 1 ? ['127.0.0.1'] : ['127.0.0.2']))
    expect(await outcomeOf(egress, `http://hooks.test:${port}/`)).toBe('200 public')
    expect([lookups, visits, attempts.made]).toEqual([1, ['public'], [`127.0.0.1 ${port}`]])
  })

  it('to an address inside the site is refused at the next connection, and called again after it changes back', async () => {
    const { port, visits } = await twoServers()
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1'], ['127.0.0.2']]
    const egress = open(allowing, () => answers.shift() ?? [])
    const outcomes: string[] = []
    for (let time = 0; time < 5; time += 1) outcomes.push(await outcomeOf(egress, `http://hooks.test:${port}/`))
    expect(outcomes).toEqual(['200 public', 'address_forbidden', '200 public', 'address_forbidden', 'dns'])
    expect([visits, new Set(attempts.made)]).toEqual([['public', 'public'], new Set([`127.0.0.1 ${port}`])])
  })

  it('between the check at writing and the call is refused', async () => {
    const { port, visits } = await twoServers()
    const url = `https://hooks.test:${port}/`
    expect(checkOutboundUrl(url, { profile: 'production', allow: parseEgressAllow([]) })).toHaveProperty('url')
    expect(
      await outcomeOf(
        open(production, () => ['127.0.0.2']),
        url,
      ),
    ).toBe('address_forbidden')
    expect([visits, attempts.made]).toEqual([[], []])
  })

  it.each([
    [['127.0.0.2', '127.0.0.1']],
    [['127.0.0.1', '127.0.0.2']],
    [['127.0.0.1', '127.0.0.1', '::1']],
    [['127.0.0.1', '169.254.169.254']],
    [['::ffff:127.0.0.2', '127.0.0.1']],
    [['127.0.0.1', 'fe80::1%eth0']],
    [['127.0.0.1', 'no address']],
  ])('is refused completely if one of %j is forbidden', async (addresses) => {
    const { port, visits } = await twoServers()
    expect(
      await outcomeOf(
        open(allowing, () => addresses),
        `http://hooks.test:${port}/`,
      ),
    ).toBe('address_forbidden')
    expect([visits, attempts.made]).toEqual([[], []])
  })

  it('at each lookup is never called', async () => {
    const { port, visits } = await twoServers()
    let lookups = 0
    const egress = open(
      production,
      () => [['127.0.0.1'], ['10.0.0.1'], ['127.0.0.2'], ['169.254.169.254'], ['::1']][lookups++ % 5] ?? [],
    )
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => outcomeOf(egress, `http://hooks.test:${port}/`)),
    )
    expect([new Set(outcomes), visits, attempts.made]).toEqual([new Set(['address_forbidden']), [], []])
  })
})

it.each([301, 302, 303, 307, 308])('a %i to a forbidden address is an answer and is not followed', async (status) => {
  const visits: string[] = []
  const inside = await serve((_, response) => {
    visits.push('inside')
    response.end()
  }, '127.0.0.2')
  const called: string[] = []
  for (const location of [`http://127.0.0.2:${inside}/`, 'http://169.254.169.254/', `//127.0.0.2:${inside}/`]) {
    const port = await serve((_, response) => {
      response
        .writeHead(status, {
          location,
          refresh: `0; url=${location}`,
          'alt-svc': `h2="127.0.0.2:${inside}"`,
          connection: 'close',
        })
        .end('moved')
    })
    const egress = open({ ...production, EGRESS_ALLOW: `hooks.test:${port}` }, () => ['127.0.0.1'])
    for (let time = 0; time < 2; time += 1) {
      expect(await outcomeOf(egress, `http://hooks.test:${port}/`)).toBe(`${status} moved`)
      called.push(`127.0.0.1 ${port}`)
    }
  }
  expect(visits).toEqual([])
  expect(attempts.made).toEqual(called)
})
