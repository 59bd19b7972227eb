import { limited, within } from '../../platform/kit/time-limits.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { inSpansOf, noTracer } from '../../platform/kit/tracing.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { EventHead } from '../store/errors.ts'
import { AdvisoryLocks } from '../../platform/database/advisory-locks.ts'
import { beat, failureOf, markCaughtUp, type ProjectionFailure, type Wanted } from './checkpoints.ts'
import { databaseFailure } from './database-errors.ts'
import { isSkipped, tracedWork, type Member } from './feed.ts'
import type { JoinedOptions } from './joined-writes.ts'
import { LogReadings } from './log-readings.ts'
import type { Advance, ProjectionRunnerOptions, ProjectorState, ProjectorStatus } from './runner-options.ts'
import { ensureRuntimeSchema, prepareProjector } from './schema.ts'
import { RetryingWriter, type PartOfMember } from './retrying-writer.ts'
import { isBehind, isWrittenHere, reachedBy, stateWanted, type ProjectorRun } from './projector-run.ts'
import { reasonOfUndecodable, reportOfUndecodable, stopsAt } from './undecodable.ts'
import { Upgrades, type UpgradeOutcome } from '../rebuild/upgrades.ts'
import { takeVacant } from './vacancies.ts'

/** Most events of one batch. */
const batchSize = 1_000
/** How long a stop waits for the running batch, in milliseconds. */
const stopMs = 5_000
/** How long one round waits for the event store to return the skipped events, in milliseconds. */
const skipsMs = 2_000
/** A connection that answers no heartbeat for this long counts as lost, in milliseconds. */
const silenceMs = 5_000
const backoff = { firstMs: 100, mostMs: 5_000 }

/** Runs projectors: one live read of the log for all, and another one for each group that lags. See `README.md`. */
export class ProjectionRunner {
  readonly #options: ProjectionRunnerOptions
  readonly #runs = new Map<string, ProjectorRun>()
  readonly #closing = new AbortController()
  readonly #writer: RetryingWriter
  readonly #listeners = new Set<(advance: Advance) => void>()
  readonly #readings: LogReadings
  readonly #upgrades: Upgrades
  #addTo: JoinedOptions['addTo']
  #locks: AdvisoryLocks | undefined
  #supervision: Promise<void> = Promise.resolve()
  #wake = new AbortController()
  /** How often this instance lost projectors that it may take again, now and before the last look. */
  #losses = 0
  #lossesAtLook: number | undefined
  /** Failures in a row. */
  #failedLooks = 0
  #isDatabaseGone = false

  constructor(options: ProjectionRunnerOptions) {
    this.#options = options
    for (const projector of options.projectors) {
      if (this.#runs.has(projector.name)) throw new TypeError(`two projectors are named ${projector.name}`)
      this.#runs.set(projector.name, { projector, state: 'standby', hasFailedUpgrade: false })
    }
    const { pool, writePool = pool, logger, eventStore, filter, skips, gatherMs, tracer = noTracer } = options
    const writes = {
      written: (entries: readonly PartOfMember[]) => this.#written(entries),
      lost: (member: Member) => {
        this.#lose([this.#runOf(member)])
        this.#wake.abort()
      },
      failed: (member: Member, failure: ProjectionFailure) => this.#failed(member, failure),
      databaseGone: () => this.#databaseGone(),
    }
    this.#writer = new RetryingWriter(writePool, logger, writes, this.#closing.signal, {
      addTo: (parts) => this.#addTo?.(parts),
    })
    this.#readings = new LogReadings(
      { eventStore, filter, batchSize, gatherMs },
      {
        write: (batches) => inSpansOf(tracer, tracedWork(batches), () => this.#writer.write(batches)),
        caughtUp: (members) => this.#markLive(members),
        undecodable: (members, head, error) => this.#undecodable(members, head, error),
        broke: (members, error) => this.#broke(members, error),
      },
    )
    const fills = { eventStore, pool, filter, logger, batchSize, ...(skips === undefined ? {} : { skips }) }
    this.#upgrades = new Upgrades(fills, () => this.#locks, this.#closing.signal)
  }

  /** Starts the projectors. `caughtUp` resolves when the read models are up to date. */
  start(): void {
    this.#supervision = this.#supervise()
  }

  /** Waits for the running batch, then releases the locks to standby instances. */
  async close(): Promise<void> {
    await within(stopMs, this.#readings.close())
    this.#closing.abort()
    this.#wake.abort()
    await this.#supervision
    await within(stopMs, Promise.all([this.#readings.close(), this.#upgrades.ended()]))
    await this.#locks?.close()
  }

  status(): ProjectorStatus[] {
    return [...this.#runs.values()].map(({ projector: { name, version }, state, position, failure }) => ({
      name,
      version,
      state,
      position,
      failure,
    }))
  }

  /** Whether this instance runs the projector, which has caught up. */
  isLive(projector: string): boolean {
    return this.#runs.get(projector)?.state === 'live'
  }

  /**
   * True once no projector of this instance is catching up; stopped and failed ones do not count. False after a failed
   * upgrade: this instance must not replace one that runs the older version.
   */
  isCaughtUp(): boolean {
    return this.#hasCaughtUp() && ![...this.#runs.values()].some(({ hasFailedUpgrade }) => hasFailedUpgrade)
  }

  /** True while the database refuses writes although it answers, for example for lack of room. */
  isHeldUp(): boolean {
    return this.#failedLooks > 0 || this.#writer.isHeldUp
  }

  /** Resolves once no projector is catching up, despite failed upgrades. Rejects if the runner closes first. */
  async caughtUp(pollMs = 20): Promise<void> {
    while (!this.#hasCaughtUp()) {
      if (this.#closing.signal.aborted) throw new Error('the projection runner was closed')
      await pause(pollMs, this.#closing.signal)
    }
  }

  /** Calls the listener after the commit of each batch. Returns a function that removes the listener. */
  onAdvance(listener: (advance: Advance) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Writes the event at the position, and those before it, without a pause. Until the returned function is called. */
  hurry(position: Position): () => void {
    return this.#readings.hurry(position)
  }

  /** Small batches write this too, in their own statement. Returns a function that ends it. */
  addToBatches(addTo: JoinedOptions['addTo']): () => void {
    this.#addTo = addTo
    return () => void (this.#addTo = undefined)
  }

  #hasCaughtUp(): boolean {
    return this.#lossesAtLook === this.#losses && ![...this.#runs.values()].some(isBehind)
  }

  async #supervise(): Promise<void> {
    const { heartbeatMs = 1_000, logger } = this.#options
    while (!this.#closing.signal.aborted) {
      this.#wake = new AbortController()
      try {
        await this.#look()
        this.#failedLooks = 0
      } catch (error) {
        this.#failedLooks += 1
        if (databaseFailure(error) === 'gone') this.#databaseGone()
        logger.warn({ component: 'projections', attempt: this.#failedLooks, err: error }, 'read-model database is away')
        this.#locks?.drop()
        this.#loseLocks()
      }
      const waitMs = this.#failedLooks === 0 ? heartbeatMs : backoffMs(backoff, this.#failedLooks)
      await pause(waitMs, this.#wake.signal)
    }
  }

  /** Writes the heartbeat, follows operators' requests, and takes projectors that nobody runs. */
  async #look(): Promise<void> {
    const losses = this.#losses
    const locks = await this.#openLocks()
    const runs = [...this.#runs.values()]
    const before = new Map(runs.map((run) => [run, run.state]))
    const owned = runs.filter((run) => locks.holds(run.projector.name) && isWrittenHere(run))
    const wanted = await limited(silenceMs, beat(locks, owned))
    for (const run of owned) {
      const state = stateWanted(run, before.get(run), wanted.get(run.projector.name))
      if (state !== undefined) this.#leave(run, state)
    }
    await this.#finishRebuilds(wanted)
    const taken = await takeVacant(runs, {
      locks,
      logger: this.#options.logger,
      standBy: (run) => this.#leave(run, 'standby'),
      beginUpgrade: (run) => this.#beginUpgrade(run),
    })
    const joining: Member[] = []
    // One after another. In parallel, some would still work after a failure had released all runs.
    for (const run of taken) {
      const member = await this.#prepare(run)
      if (member !== undefined) joining.push(member)
    }
    if (joining.length > 0) await beat(locks, joining)
    this.#readings.add(joining)
    this.#lossesAtLook = losses
  }

  #beginUpgrade(run: ProjectorRun): void {
    const running = new AbortController()
    run.state = 'catching-up'
    run.failure = undefined
    run.upgrading = running
    void this.#upgrades.run(run.projector, running.signal).then((outcome) => {
      if (run.upgrading === running && outcome !== undefined) this.#upgradeEnded(run, outcome)
    })
  }

  #upgradeEnded(run: ProjectorRun, outcome: UpgradeOutcome): void {
    if (outcome === 'done') {
      // The next look follows at once and continues where the copy ends. Until then it counts as catching up.
      run.upgrading = undefined
      this.#wake.abort()
    } else {
      this.#leave(run, 'failed')
      run.hasFailedUpgrade = true
      run.failure = outcome === 'no-room' ? undefined : outcome
    }
  }

  async #openLocks(): Promise<AdvisoryLocks> {
    if (this.#locks !== undefined && !this.#locks.isLost) return this.#locks
    await ensureRuntimeSchema(this.#options.pool)
    this.#locks = await AdvisoryLocks.open(this.#options.pool, () => {
      this.#loseLocks()
      this.#wake.abort()
    })
    return this.#locks
  }

  async #prepare(run: ProjectorRun): Promise<Member | undefined> {
    const { projector } = run
    run.state = 'catching-up'
    const { skips, pool, logger } = this.#options
    let skipped: ReadonlySet<string> = new Set()
    try {
      if (skips !== undefined) skipped = await limited(skipsMs, skips(projector.name))
    } catch (error) {
      logger.warn(
        { component: 'projections', projector: projector.name, err: error },
        'the skipped events cannot be read, trying again',
      )
      return undefined
    }
    const { position, status, copyId, fit } = await inTransaction(pool, (client) => prepareProjector(client, projector))
    // Another version has just replaced it. The next round handles that.
    if (fit !== 'current') return undefined
    const isReplaced = run.copyId !== undefined && run.copyId !== copyId
    run.position = position
    run.failure = undefined
    run.copyId = copyId
    run.foreign = undefined
    // A copy may contain more than the one it replaced.
    if (isReplaced) this.#notify({ projectors: [projector.name], position, parts: undefined })
    if (status === 'stopped') {
      run.state = 'stopped'
      return undefined
    }
    run.member = { projector, position, copyId, skipped, isActive: true }
    return run.member
  }

  async #markLive(members: readonly Member[]): Promise<void> {
    for (const member of members) {
      const run = this.#runOf(member)
      if (run.member === member) run.state = 'live'
    }
    // A failure here is repaired in the next round.
    await this.#finishRebuilds(undefined).catch(() => undefined)
  }

  /** With `stored`: only projectors that are `rebuilding`. Those whose rows have changed are prepared again. */
  async #finishRebuilds(stored: ReadonlyMap<string, Wanted> | undefined): Promise<void> {
    const reached = [...this.#runs.values()].map(reachedBy).filter((each) => each !== undefined)
    const rebuilt =
      stored === undefined ? reached : reached.filter(({ name }) => stored.get(name)?.status === 'rebuilding')
    if (rebuilt.length === 0) return
    const marked = await markCaughtUp(this.#options.pool, rebuilt)
    if (stored === undefined) return
    for (const { name } of rebuilt) if (!marked.has(name)) this.#leave(this.#run(name), 'standby')
  }

  async #undecodable(members: readonly Member[], head: EventHead, error: Error): Promise<void> {
    const reason = reasonOfUndecodable(error)
    const concerned = members.filter((member) => stopsAt(member.projector, head, error) && !isSkipped(member, head))
    if (concerned.length === 0)
      this.#options.logger.warn(
        { eventId: head.id, eventType: head.type, reason },
        'an event that cannot be read concerns no projector',
      )
    for (const member of concerned) await this.#writer.fail(member, failureOf(head, reportOfUndecodable(error)))
  }

  #written(entries: readonly PartOfMember[]): void {
    const parts = entries.map(({ part }) => part)
    const position = parts[0]?.to
    if (position === undefined) return
    for (const { member } of entries) this.#runOf(member).position = position
    this.#notify({ projectors: parts.map(({ projector }) => projector.name), position, parts })
  }

  #notify(advance: Advance): void {
    for (const listener of this.#listeners) listener(advance)
  }

  #failed(member: Member, failure: ProjectionFailure): void {
    const run = this.#runOf(member)
    this.#leave(run, 'failed')
    run.failure = failure
  }

  /** Stops feeding a projector. */
  #leave(run: ProjectorRun, state: ProjectorState): void {
    run.state = state
    run.upgrading?.abort()
    run.upgrading = undefined
    run.hasFailedUpgrade = false
    if (run.member !== undefined) this.#readings.remove(run.member)
    run.member = undefined
  }

  /**
   * Stops feeding projectors that the next look may take again. Until then nobody knows whether they have caught up. A
   * failed upgrade stays one: a loss is no request of an operator.
   */
  #lose(runs: Iterable<ProjectorRun>): void {
    for (const run of runs) if (!run.hasFailedUpgrade) this.#leave(run, 'standby')
    this.#losses += 1
  }

  /** The connection with the locks is lost. Another instance may run our projectors from now on. */
  #loseLocks(): void {
    this.#locks = undefined
    this.#lose(this.#runs.values())
  }

  #broke(members: readonly Member[], error: unknown): void {
    if (this.#closing.signal.aborted) return
    this.#options.logger.error(
      { component: 'projections', err: error },
      'the read of the log ended and restarts at the checkpoints',
    )
    this.#lose(members.map((member) => this.#runOf(member)))
  }

  #databaseGone(): void {
    if (this.#isDatabaseGone) return
    this.#isDatabaseGone = true
    this.#options.onDatabaseGone?.()
  }

  #runOf(member: Member): ProjectorRun {
    return this.#run(member.projector.name)
  }

  #run(name: string): ProjectorRun {
    const run = this.#runs.get(name)
    if (run === undefined) throw new TypeError(`no projector ${name}`)
    return run
  }
}
