import { createPool } from '../../platform/database/database.ts'
import type { Projector } from '../../engine/projections/projector.ts'
import { ProjectionRunner } from '../../engine/projections/runner.ts'
import type { ProjectionRunnerOptions } from '../../engine/projections/runner-options.ts'
import { pause } from '../../platform/kit/backoff.ts'
import { comparePositions, formatPosition, type Position } from '../../platform/kit/positions.ts'
import { silentLogger } from './contents.ts'
import { CuttingProxy } from './cutting-proxy.ts'

/** A runner with its own connection to Postgres, which can be cut. */
export interface Instance {
  readonly runner: ProjectionRunner
  readonly proxy: CuttingProxy
  close(): Promise<void>
}

const patienceMs = 120_000

export async function startInstance(
  databaseUrl: string,
  projectors: readonly Projector[],
  reading: Pick<ProjectionRunnerOptions, 'eventStore' | 'filter'>,
): Promise<Instance> {
  const { proxy, url } = await CuttingProxy.open(databaseUrl)
  const pool = createPool({ url, max: 4, name: 'equality' })
  const runner = new ProjectionRunner({ ...reading, pool, projectors, logger: silentLogger, heartbeatMs: 20 })
  runner.start()
  return {
    runner,
    proxy,
    close: async () => {
      await runner.close()
      await pool.end()
      proxy.close()
    },
  }
}

/**
 * Resolves when the instance has written everything up to the position, or is dead. Does not wait for `stopped`
 * projectors, which an operator stopped.
 * @throws when a projector fails, which no valid history causes, or after two minutes
 */
export async function caughtUpTo(
  { runner, proxy }: Instance,
  position: Position,
  stopped: readonly string[],
): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!proxy.isDead) {
    const statuses = runner.status()
    const failed = statuses.find(({ state }) => state === 'failed')
    if (failed?.failure !== undefined)
      throw new Error(`${failed.name} stopped at ${failed.failure.eventType}: ${failed.failure.reason}`)
    const isThere = (reached: Position | undefined): boolean =>
      reached !== undefined && comparePositions(reached, position) >= 0
    if (
      statuses.every(
        ({ name, state, position: reached }) => stopped.includes(name) || (state === 'live' && isThere(reached)),
      )
    )
      return
    if (performance.now() > deadline) {
      const late = statuses.map(
        ({ name, state, position: reached }) =>
          `${name} ${state} ${reached === undefined ? '' : formatPosition(reached)}`,
      )
      throw new Error(`not at ${formatPosition(position)} in time: ${late.join(', ')}`)
    }
    await pause(2)
  }
}
