import { setTimeout as sleep } from 'node:timers/promises'
import { at, textAt } from '../../app/demo/members.ts'
import type { ApiClient } from '../../test/support/raw-api.ts'
import { expecting } from '../../test/support/main-job.ts'
import { waitFor } from '../../test/support/platform.ts'
import { Callers, type Acknowledged } from './callers.ts'
import type { Fault, Ground } from './fault.ts'
import { HealthWatch } from './health-watch.ts'
import type { Observation } from './outcomes.ts'
import type { Stage } from './stage/stage.ts'
import { ChannelSubscriber, channelByCase, headOfChannel } from './subscriber.ts'

/** After the end of a fault, health may fail for this long, and all open work must end within it. In milliseconds. */
const clearLimitMs = 60_000
const endLimitMs = 120_000

/** Causes a fault under load, waits for its end, and checks every promise of the platform. */
export async function runFault(stage: Stage, fault: Fault, ground: Ground, seconds: number): Promise<Observation> {
  const health = new HealthWatch(stage.baseUrl)
  const callers = new Callers(stage, await stage.connect(), { mayExpire: fault.mayExpire === true })
  const subscriber = new ChannelSubscriber(stage.servers.env['ESDB_URL'] ?? '')
  health.start()
  callers.start()
  subscriber.start()
  const wrong: string[] = []
  let begunAt = 0
  let endedAt = 0
  try {
    await waitFor('the first acknowledged assessment', () => callers.acknowledged[0], 60_000)
    begunAt = performance.now()
    const end = await ground.begin(stage)
    await sleep(seconds * 1_000)
    await end()
    endedAt = performance.now()
    await waitFor(
      `health after: ${fault.name}`,
      () => (health.isHealthy && health.times.lastFailingAt < performance.now() - 1_000 ? true : undefined),
      clearLimitMs,
    )
    const before = callers.acknowledged.length
    await waitFor(
      `assessments after: ${fault.name}`,
      () => (callers.acknowledged.length >= before + 2 ? true : undefined),
      clearLimitMs,
    )
  } catch (error) {
    wrong.push(String(error))
  } finally {
    await callers.stop()
  }
  const ended = await wrongAssessments(stage, callers.acknowledged, fault.mayEnd ?? []).catch((error: unknown) => [
    String(error),
  ])
  const channel = await followedChannel(stage, subscriber).catch((error: unknown) => [String(error)])
  await Promise.all([health.stop(), subscriber.stop()])
  const { shownAt, lastFailingAt } = health.times
  const isShown = fault.health.length === 0 || fault.health.some((name) => health.failed.has(name))
  return {
    fault: fault.name,
    seconds,
    outcomes: callers.outcomes,
    acknowledged: callers.acknowledged.length,
    subscriber: { drops: subscriber.drops, events: subscriber.revisions.length },
    health: [...health.failed],
    shownMs: shownAt === undefined ? undefined : Math.max(0, shownAt - begunAt),
    clearedMs: Math.max(0, lastFailingAt - endedAt),
    wrong: [
      ...wrong,
      ...new Set(
        callers.outcomes.flatMap((outcome) =>
          outcome.wrong === undefined ? [] : [`${outcome.caller}: ${outcome.wrong}`],
        ),
      ),
      ...health.wrong,
      ...(isShown
        ? []
        : [
            `health never showed ${fault.health.join(' or ')}; it showed ${[...health.failed].join(', ') || 'nothing'}`,
          ]),
      ...(stage.platform.output().includes('internal-error') ? ['the platform logged an internal error'] : []),
      ...ended,
      ...channel,
    ],
  }
}

/**
 * Returns the acknowledged assessments that are wrong. Each must be completed, with one complete sequence on the public
 * channel, or failed as allowed.
 */
async function wrongAssessments(
  stage: Stage,
  acknowledged: readonly Acknowledged[],
  mayEnd: readonly string[],
): Promise<string[]> {
  const api = await stage.connect()
  const records = new Map<string, unknown>()
  const deadline = performance.now() + endLimitMs
  for (const { id } of acknowledged) {
    const leftMs = Math.max(1_000, deadline - performance.now())
    records.set(id, await waitFor(`the end of ${id}`, () => endOf(api, id), leftMs).catch(() => undefined))
  }
  const published = await channelByCase(stage.servers.eventStoreUrl)
  return [...records].flatMap(([id, record]) => {
    if (record === undefined) return [`assessment ${id} has no end`]
    const code = at(record, 'error', 'code')
    if (typeof code === 'string' && mayEnd.includes(code)) return []
    if (at(record, 'status') !== 'completed')
      return [`assessment ${id} ended ${JSON.stringify(code ?? at(record, 'status'))}`]
    const story = published.cases.get(textAt(record, 'case_id'))?.join(' ')
    return story === 'ai_review.requested ai_review.started ai_review.completed'
      ? []
      : [`the channel contains for the case of ${id}: ${story ?? 'nothing'}`]
  })
}

async function endOf(api: ApiClient, id: string): Promise<unknown> {
  const { body } = await expecting(200, api.call(`/v1/clinical-api/assessments/${id}`))
  return at(body, 'status') === 'processing' ? undefined : body
}

/** Returns a violation unless the subscriber has every event of the channel once and in order. */
async function followedChannel(stage: Stage, subscriber: ChannelSubscriber): Promise<string[]> {
  const head = await headOfChannel(stage.servers.eventStoreUrl)
  await waitFor('the subscriber', () => ((subscriber.revisions.at(-1) ?? -1n) >= head ? true : undefined))
  const isWhole = subscriber.revisions.every((revision, place) => revision === BigInt(place))
  return isWhole ? [] : ['the subscriber has events twice, out of order, or not at all']
}
