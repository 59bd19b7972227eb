import type { RebuildContext } from '../../engine/rebuild/context.ts'
import { ensureRuntimeSchema } from '../../engine/projections/schema.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { clearly } from '../start-errors.ts'
import { retryProjector, type CommandReport } from './going-on.ts'
import { projectionLag } from './lag.ts'
import { listProjectors } from './list.ts'
import type { ProjectionsOrder } from './orders.ts'
import { createProgress, type Progress } from './progress.ts'
import { projectedStreams } from './projected-streams.ts'
import { dropCopies, rebuildProjectors, rollBack } from './rebuild.ts'
import { openServers, type OpenServers } from './servers.ts'
import { skipFailedEvent, skippedIn } from './skip.ts'
import { verifyProjectors } from './verify.ts'

/** Results go to `out`, errors and progress to `err`. */
export interface Terminal {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** `err` is a terminal that can redraw lines. */
  readonly isInteractive: boolean
  /** Ends a long command. The unfinished copy is dropped. */
  readonly signal: AbortSignal
}

/** Runs an operator's command. Resolves to the exit code: 0 done or equal, 1 different or failed. */
export async function runProjections(order: ProjectionsOrder, env: Environment, terminal: Terminal): Promise<number> {
  const servers = await openServers(env)
  const progress = createProgress({
    write: terminal.err,
    isTerminal: terminal.isInteractive,
    now: () => performance.now(),
  })
  try {
    const results = await clearly('DATABASE_URL', () => carriedOut(order, servers, progress, terminal.signal))
    progress.clear()
    for (const { text, isDone } of results) {
      if (isDone || isData(order)) terminal.out(text)
      else terminal.err(`${text}\n`)
    }
    return results.every(({ isDone }) => isDone) ? 0 : 1
  } catch (error) {
    progress.clear()
    throw error
  } finally {
    await servers.close()
  }
}

async function carriedOut(
  order: ProjectionsOrder,
  servers: OpenServers,
  progress: Progress,
  signal: AbortSignal,
): Promise<readonly CommandReport[]> {
  const { pool } = servers
  switch (order.action) {
    case 'list':
      return [{ text: await listProjectors(pool, order.isJson), isDone: true }]
    case 'lag':
      return [{ text: await projectionLag(pool, await servers.eventStore(), order.isJson), isDone: true }]
    case 'retry':
      return [await retryProjector(pool, order.name)]
    case 'skip':
      return [await skipFailedEvent(pool, await servers.eventStore(), order)]
    case 'rebuild':
      return rebuildProjectors(await contextOf(servers, progress, signal), order.names, order.acceptsDifference)
    case 'verify':
      return verifyProjectors(await contextOf(servers, progress, signal), order.names, order.isJson)
    case 'rollback':
      return [await rollBack(await contextOf(servers, progress, signal), order.name)]
    case 'drop':
      return [await dropCopies(pool, order.name)]
  }
}

async function contextOf(servers: OpenServers, progress: Progress, signal: AbortSignal): Promise<RebuildContext> {
  const { pool } = servers
  const eventStore = await servers.eventStore()
  await ensureRuntimeSchema(pool)
  return {
    eventStore,
    pool,
    logger: createLogger({ level: 'silent' }),
    filter: { streamPrefixes: projectedStreams },
    skips: skippedIn(eventStore),
    signal,
    onProgress: progress.report,
  }
}

/** Programs read this output, so it goes to `out`, whatever the result is. */
function isData(order: ProjectionsOrder): boolean {
  return 'isJson' in order && order.isJson
}
