import { createPool, type Pool } from '../../platform/database/database.ts'
import { requestResume } from '../../engine/rebuild/resume.ts'
import type { Projector } from '../../engine/projections/projector.ts'
import { ensureRuntimeSchema } from '../../engine/projections/schema.ts'
import { startOfLog } from '../../platform/kit/positions.ts'
import { empty, firstDifference, read, rebuild } from './contents.ts'
import type { Course, Disturbance } from './disturbances.ts'
import { storyOf, type Move } from './histories.ts'
import { caughtUpTo, startInstance, type Instance } from './instances.ts'
import { recordedLog } from './story.ts'
import { GrowingLog } from './growing-log.ts'

const namespace = '0b0f6c1e-3a55-5e0a-8c3e-5b1f1b7c9d10'

/** Counts over all cases. They show that the check disturbs the runner at all. */
export interface Figures {
  cases: number
  events: number
  readonly disturbances: Record<Disturbance['kind'], number>
}

/** One set of read models in a shared database, emptied for each case. */
export class Lane {
  readonly #databaseUrl: string
  readonly #pool: Pool
  readonly #live: ReadonlyMap<string, Projector>
  readonly #copies: ReadonlyMap<string, Projector>
  readonly #figures: Figures
  /** Killed instances that are still closing. Their server is unreachable, so closing takes seconds. */
  readonly #buried: Promise<void>[] = []

  private constructor(
    databaseUrl: string,
    pool: Pool,
    projectors: readonly Projector[],
    number: number,
    figures: Figures,
  ) {
    this.#databaseUrl = databaseUrl
    this.#pool = pool
    this.#figures = figures
    const named = (suffix: string) =>
      new Map(
        projectors.map((projector) => [projector.name, { ...projector, name: `${projector.name}_${suffix}${number}` }]),
      )
    this.#live = named('live')
    this.#copies = named('copy')
  }

  static async open(
    databaseUrl: string,
    projectors: readonly Projector[],
    number: number,
    figures: Figures,
  ): Promise<Lane> {
    const pool = createPool({ url: databaseUrl, max: 4 })
    await ensureRuntimeSchema(pool)
    return new Lane(databaseUrl, pool, projectors, number, figures)
  }

  async close(): Promise<void> {
    await Promise.all(this.#buried)
    await this.#pool.end()
  }

  /** Runs one case. Resolves to a text about the first row in which live and rebuilt read models differ. */
  async run(
    moves: readonly Move[],
    { disturbances, delivery }: Course,
    rebuildSize: number,
  ): Promise<string | undefined> {
    const events = recordedLog(storyOf(moves, namespace).appends)
    const log = new GrowingLog(events, delivery)
    await empty(this.#pool, [...this.#live.values()])
    this.#figures.cases += 1
    this.#figures.events += events.length
    const stopped: string[] = []
    let instance = await this.#begin(log)
    try {
      for (const disturbance of disturbances.toSorted((a, b) => a.percent - b.percent)) {
        this.#figures.disturbances[disturbance.kind] += 1
        const isKill = disturbance.kind === 'kill'
        if (isKill || disturbance.kind === 'cut')
          instance.proxy.cutAfter(disturbance.statements, disturbance.moment, isKill)
        log.reach(Math.ceil((events.length * disturbance.percent) / 100))
        await caughtUpTo(instance, log.newest, stopped)
        if (isKill) {
          instance.proxy.kill()
          this.#buried.push(instance.close())
          instance = await this.#begin(log)
        }
        if (disturbance.kind === 'restart') instance = await this.#replace(instance, log, disturbance.overlaps)
        if (disturbance.kind === 'break') log.breakSubscriptions()
        if (disturbance.kind === 'stop') stopped.push(await this.#stop(disturbance.projector))
      }
      for (const name of stopped) await requestResume(this.#pool, name)
      log.reach(events.length)
      await caughtUpTo(instance, log.newest, [])
    } finally {
      await instance.close()
    }
    return this.#compare(log, rebuildSize)
  }

  #begin(log: GrowingLog): Promise<Instance> {
    return startInstance(this.#databaseUrl, [...this.#live.values()], {
      eventStore: log,
      filter: { streamPrefixes: [] },
    })
  }

  async #replace(instance: Instance, log: GrowingLog, overlaps: boolean): Promise<Instance> {
    if (!overlaps) {
      await instance.close()
      return this.#begin(log)
    }
    const next = await this.#begin(log)
    await instance.close()
    return next
  }

  async #stop(index: number): Promise<string> {
    const names = [...this.#live.values()].map(({ name }) => name)
    const name = names[index % names.length] ?? ''
    await this.#pool.query(`update runtime.projectors set status = 'stopped' where name = $1`, [name])
    return name
  }

  /**
   * Reads checkpoints and rows of the live projectors at one moment, and fills the copies up to the same checkpoints.
   */
  async #compare(log: GrowingLog, rebuildSize: number): Promise<string | undefined> {
    const live = await read(this.#pool, this.#live)
    const reached = new Map(
      [...this.#copies].map(([name, copy]) => [copy.name, live.positions.get(name) ?? startOfLog]),
    )
    await rebuild(this.#pool, log, [...this.#copies.values()], rebuildSize, (name) => reached.get(name) ?? startOfLog)
    return firstDifference(live.contents, (await read(this.#pool, this.#copies)).contents)
  }
}
