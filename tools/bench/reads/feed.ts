import { randomUUID } from 'node:crypto'
import { consents } from '../../../streams/consent/aggregate.ts'
import type { RawEvent } from '../../../engine/store/codec.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { decisionRequests, patientsWithDecisions, publishConsentText } from '../commands/consents.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, atMost, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import type { BareVisibleJob, FeedLinesJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { storedEvents } from '../load/stored-events.ts'

const stream = 'consent.events'
const perAppend = 500

/** The event feed for one consumer: all events by pages, and each new event as a line of server-sent events. */
export const eventFeed: Benchmark = {
  name: 'feed',
  goals: ['24', '25'],
  about: 'one consumer of the event feed: pages over a bare read, lines over subscription delivery and a transaction',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 10_000 : 100_000
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'] }))
      const driver = await started(startDriver())
      const { baseUrl, headers, eventStoreUrl } = platform
      await publish(platform, count)
      const pages = { kind: 'feed-pages', baseUrl, path: '/v1/events/consent', headers, count } as const
      const bare = { kind: 'read-stream', url: eventStoreUrl, stream, count } as const
      await compare(
        single({
          goalNumber: '24',
          name: `${count.toLocaleString('en')} events of one organisation by pages of the feed`,
          unit: 'events per second',
          ours: { name: 'feed', measure: async () => (await driver.run(pages)).perSecond },
          other: { name: 'readStream', measure: async () => (await driver.run(bare)).perSecond },
          goal: atLeast(0.5),
        }),
      )
    })
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'] }))
      await platform.run(['processor'])
      const driver = await started(startDriver())
      const text = await publishConsentText(platform)
      const patients = await patientsWithDecisions(platform, text, quick ? 300 : 3_000, 0)
      const requests = decisionRequests(platform, text, patients, patients.length)
      const atOnce: FeedLinesJob = { kind: 'feed-lines', requests, channel: 'consent', perSecond: Infinity }
      const perSecond = (await driver.run(atOnce)).perSecond / 2
      const lines: FeedLinesJob = { ...atOnce, perSecond }
      const [patient = ''] = patients
      const target = consents.of(tenantOfFact(platform.credentials.org_id), patient)
      const events = (await storedEvents(platform.eventStoreUrl, target.stream)).slice(0, 1)
      const append = {
        kind: 'append',
        url: platform.eventStoreUrl,
        events,
        count: requests.count,
        inFlight: 1,
      } as const
      const databaseUrl = await platform.otherDatabase('bare')
      const bare: BareVisibleJob = { kind: 'bare-visible', append, databaseUrl, perSecond }
      const both = ({ p50, p99 }: { readonly p50: number; readonly p99: number }) => [p50, p99]
      const name = `recorded → line of the feed at ${perSecond.toFixed(0)} per second`
      await compare({
        goal: '25',
        figures: [
          { name: `${name}, p50`, unit: 'ms', goal: atMost(2, { reached: 2.75 }) },
          { name: `${name}, p99`, unit: 'ms', goal: { kind: 'none' } },
        ],
        ours: { name: 'feed', measure: async () => both(await driver.run(lines)) },
        other: { name: 'subscription and transaction', measure: async () => both(await driver.run(bare)) },
      })
    })
  },
}

/** Appends signed events to a channel, as the platform publishes them, and waits until the feed has them. */
async function publish({ store, credentials, baseUrl, headers }: BenchPlatform, count: number): Promise<void> {
  let newest = ''
  for (let done = 0; done < count; done += perAppend) {
    const events = Array.from({ length: Math.min(perAppend, count - done) }, () => granted(credentials.org_id))
    const { position } = await store.appendRaw(stream, done === 0 ? 'no_stream' : BigInt(done - 1), events)
    newest = formatPosition(position)
  }
  for (let left = 600; ; left -= 1) {
    const answer = await fetch(`${baseUrl}/v1/events/consent?limit=1`, {
      headers: { ...headers, 'x-min-commit-position': newest },
    })
    await answer.body?.cancel()
    if (answer.ok && answer.headers.get('x-projection-lag-ms') === null) return
    if (left === 0) throw new Error('the feed does not get the events')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function granted(orgId: string): RawEvent {
  const id = randomUUID()
  const now = new Date().toISOString()
  const envelope = {
    event_id: id,
    event_type: 'consent.granted',
    occurred_at: now,
    schema_version: 1,
    causation_id: randomUUID(),
    correlation_id: randomUUID(),
    hop: 0,
  }
  const fact = {
    org_id: orgId,
    type: 'consent.granted',
    patient_id: randomUUID(),
    consent_type_code: 'ai',
    timestamp: now,
  }
  const metadata = { commandId: randomUUID(), $correlationId: randomUUID(), $causationId: randomUUID() }
  return { id, type: 'consent.granted', data: { ...fact, ...envelope }, metadata }
}
