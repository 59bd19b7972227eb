import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { textAt } from '../../app/demo/members.ts'
import { createApiClient, requestToken } from '../../test/support/raw-api.ts'
import { providerAt } from '../../test/support/provider.ts'
import { readLines, type Acknowledged, type LoadSummary, type Seen } from './acknowledged.ts'
import { checkAccessLog } from './checks/access-log.ts'
import { checkAcknowledged, checkAnswers, checkUnacknowledged } from './checks/acknowledged.ts'
import { checkApi } from './checks/api.ts'
import { checkAssessmentReviews } from './checks/assessment-reviews.ts'
import { channels, checkChannel } from './checks/channels.ts'
import { checkErasures, erasedIds, ofLiving } from './checks/erased.ts'
import type { Checked } from './facts.ts'
import { checkEndings, checkSlots } from './checks/endings.ts'
import { checkFeed } from './checks/feed.ts'
import { checkFindings } from './checks/findings.ts'
import { checkTasks } from './checks/human-review.ts'
import { checkReviewedCases } from './checks/reviewed-cases.ts'
import { checkRevisions, checkSameOrder, checkSubscriber } from './checks/log.ts'
import { checkOutcomes, outcomesOf } from './checks/outcomes.ts'
import { checkMessages, checkUnknown, receivedMessages } from './checks/messages.ts'
import { checkNotificationEnds, checkRules } from './checks/notifications.ts'
import { checkProviderCalls } from './checks/provider.ts'
import { checkUsers } from './checks/users.ts'
import { checkWebhooks, type ReceivedLine } from './checks/webhooks.ts'
import { checkWorkflows } from './checks/workflows.ts'
import type { LoadOrder } from './outside/load-main.ts'
import { createPool } from '../../platform/database/database.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { describeStrike, type Strike } from './schedule.ts'
import { checkOwnEnds, recovered, strikeAll, type Kills, type Weapons } from './stage/killer.ts'
import { FeedReaders } from './stage/feed-reader.ts'
import { Follower, readWholeLog } from './stage/log-reader.ts'
import { Backups } from './stage/backups.ts'
import { portOf, startOutside, type Outside } from './stage/outside.ts'
import { compareWithRebuild } from './stage/rebuilt.ts'
import { readLeft } from './stage/left.ts'
import { untilQuiet } from './stage/quiet.ts'
import { checkSeals } from './stage/sealed.ts'
import { startStage, type Stage } from './stage/stage.ts'
import { checkFollowers, FollowerWatch, standstills, type Standstill } from './stage/standstill.ts'

export interface TortureOptions {
  readonly seed: number
  readonly schedule: readonly Strike[]
  readonly users: number
  /** How many backups are made amid the strikes. None with a real event store: its backup is its own. */
  readonly backups: number
  /** A real event store, which must be empty. Undefined: an embedded node that looks like a cluster. */
  readonly realUrl?: string
  /** Makes the cluster fail, and resolves to the function that ends it. Default: by the fault of the strike. */
  readonly fail?: Weapons['fail']
  readonly signal: AbortSignal
  readonly say: (line: string) => void
}

export interface TortureResult {
  readonly seed: number
  readonly kills: Kills
  readonly load: LoadSummary
  readonly events: number
  /** Number of assessments by outcome. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly subscriberDrops: number
  /** What each failure of the cluster cost. */
  readonly standstills: readonly Standstill[]
  readonly seconds: { readonly strikes: number; readonly finishing: number; readonly all: number }
  readonly checks: readonly Checked[]
  /** Folder with the files of the run. Null when nothing was found; it is deleted then. */
  readonly folder: string | null
}

const quietLimitMs = 120_000
/** A consumer of the feed that gets nothing for so long has everything. */
const feedQuietMs = 3_000
/** Time of load before the first strike and after the last, so that no kill meets an idle system. */
const calmMs = 1_000
const nothing = () => undefined

/** The whole run: puts an installation under load, kills it by the schedule, then checks it. */
export async function torture(options: TortureOptions): Promise<TortureResult> {
  const { signal, say } = options
  const folder = await mkdtemp(join(tmpdir(), 'torture-'))
  const closers: (() => Promise<void> | void)[] = []
  let isClean = false
  try {
    const { realUrl } = options
    if (realUrl !== undefined && (await readWholeLog(realUrl, 'forwards')).length > 0)
      throw new Error('the event store of ESDB_URL is not empty')
    const stage = await startStage(folder, signal, realUrl)
    closers.push(() => stage.stop())
    signal.throwIfAborted()
    const result = await onStage(stage, options, closers)
    isClean = result.checks.every(({ findings }) => findings.length === 0)
    return { ...result, folder: isClean ? null : folder }
  } catch (error) {
    if (!signal.aborted) say(`kept: ${folder}`)
    throw error
  } finally {
    for (const close of closers.toReversed()) await close()
    if (isClean || signal.aborted) await rm(folder, { recursive: true, force: true })
  }
}

async function onStage(
  stage: Stage,
  options: TortureOptions,
  closers: (() => Promise<void> | void)[],
): Promise<Omit<TortureResult, 'folder'>> {
  const { seed, schedule, signal, say } = options
  const begun = performance.now()
  const files = {
    acknowledged: join(stage.folder, 'acknowledged.jsonl'),
    seen: join(stage.folder, 'seen.jsonl'),
    received: join(stage.folder, 'received.jsonl'),
  }
  const receiver = await startOutside('receiver', [files.received])
  closers.push(() => receiver.kill())
  const follower = new Follower(stage.esdbUrl)
  closers.push(() => follower.close())
  const { base_url: baseUrl, clients } = stage.credentials
  const feed = new FeedReaders(
    baseUrl,
    clients.filter(({ org_id: orgId }) => orgId !== null),
  )
  closers.push(() => feed.close())
  const logger = createLogger({ level: 'silent' })
  const followers = new FollowerWatch(
    createPool({ url: stage.databaseUrl('platform'), max: 1, name: 'followers', logger }),
  )
  closers.push(() => followers.close())
  const loaded = await startLoad(stage, options, files, portOf(receiver))
  closers.push(() => loaded.kill())

  // Strikes without load, or without a receiver, would show nothing.
  const whole = AbortSignal.any([signal, loaded.lost, receiver.lost])
  await sleep(calmMs, undefined, { signal: whole })
  const fail: Weapons['fail'] = options.fail ?? (async ({ fault }) => (fault && stage.cluster?.begin(fault)) ?? nothing)
  const backups = new Backups(stage, { count: options.backups, strikes: schedule.length, seed })
  closers.push(() => backups.made().catch(() => undefined))
  const kills = await strikeAll({ stage, followers, fail }, schedule, whole, (strike, index) => {
    say(`strike ${index + 1} of ${schedule.length}, ${describeStrike(strike)}`)
    backups.beside(index, signal)
  })
  await backups.made()
  await sleep(calmMs, undefined, { signal: whole })
  const load = (await loaded.finish()) as LoadSummary
  const struck = performance.now()
  const left = await untilQuiet(follower.facts, quietLimitMs, signal)
  for (const one of left) say(`unfinished: ${one}`)
  const quiet = performance.now()

  const before = await readWholeLog(stage.esdbUrl, 'forwards')
  say('everything at once, a last time; then the checks')
  await Promise.all(stage.parts.map((part) => stage.part(part).kill()))
  await recovered(stage, signal)
  const log = await readWholeLog(stage.esdbUrl, 'backwards')
  const erased = erasedIds(log)
  const living = ofLiving(log, erased)
  const acknowledged = await readLines<Acknowledged>(files.acknowledged)
  const shown = acknowledged.filter(({ id }) => !erased.has(id))
  const received = await readLines<ReceivedLine>(files.received)
  const still = standstills(
    kills.failures,
    acknowledged.map((one) => one.at),
    followers.moves,
  )
  const api = await connect(stage)
  const checks = [
    checkAnswers(load),
    checkAcknowledged(acknowledged, log),
    checkUnacknowledged(acknowledged, load, log),
    await checkApi(api, shown, living),
    await checkErasures(api, log, await readLeft(stage)),
    checkRevisions(log),
    checkSameOrder('read forwards, and backwards after another crash of everything', before, log),
    checkSubscriber(log, [...(await follower.caughtUp(log.length))], await readWholeLog(stage.esdbUrl, 'forwards')),
    ...Object.keys(channels).map((channel) => checkChannel(channel, log)),
    checkFeed(log, await feed.caughtUp(feedQuietMs, quietLimitMs), await readWholeLog(stage.esdbUrl, 'forwards')),
    checkEndings(log),
    checkSlots(log),
    checkFindings(living),
    checkTasks(living),
    checkReviewedCases(living),
    checkAssessmentReviews(living),
    checkOutcomes(living),
    checkProviderCalls(log, await providerAt(stage.providerUrl, stage.controlSecret).calls()),
    checkWebhooks(log, received),
    checkAccessLog(await readLines<Seen>(files.seen), log),
    checkUsers(log),
    checkWorkflows(living),
    checkRules(log),
    checkNotificationEnds(log),
    checkMessages(log, await receivedMessages(stage.messages)),
    checkUnknown(log, kills.outages),
    await compareWithRebuild(stage),
    await checkSeals(stage, log),
    checkOwnEnds(stage),
    checkFollowers(still, followers.moves),
    ...(options.backups > 0 ? [await backups.check(await readWholeLog(stage.esdbUrl, 'forwards'))] : []),
  ]
  const seconds = (from: number, to: number) => Math.round((to - from) / 100) / 10
  return {
    seed,
    kills,
    load,
    checks,
    events: log.length,
    outcomes: outcomesOf(log),
    subscriberDrops: follower.drops,
    standstills: still,
    seconds: {
      strikes: seconds(begun, struck),
      finishing: seconds(struck, quiet),
      all: seconds(begun, performance.now()),
    },
  }
}

async function startLoad(
  stage: Stage,
  { seed, users }: TortureOptions,
  { acknowledged: log, seen }: { readonly acknowledged: string; readonly seen: string },
  receiverPort: number,
): Promise<Outside> {
  const { base_url: baseUrl, org_id: orgId, product_id: productId, clients } = stage.credentials
  const { client_id: clientId = '', client_secret: clientSecret = '' } = clients[0] ?? {}
  const order: LoadOrder = {
    baseUrl,
    clientId,
    clientSecret,
    orgId,
    productId,
    adminSecret: stage.adminSecret,
    log,
    seen,
    seed,
    users,
    receiverUrl: `http://127.0.0.1:${receiverPort}`,
  }
  return startOutside('load', [], { TORTURE_LOAD: JSON.stringify(order) })
}

async function connect(stage: Stage) {
  const [client] = stage.credentials.clients
  if (client === undefined) throw new Error('the installation has no client')
  const { base_url: baseUrl } = stage.credentials
  return createApiClient(baseUrl, textAt((await requestToken(baseUrl, client)).body, 'access_token'))
}
