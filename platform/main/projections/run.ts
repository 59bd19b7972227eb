import type { Environment } from '../../configuration.ts'
import { clearly } from '../start-errors.ts'
import { retryProjector, type Told } from './going-on.ts'
import { projectionLag } from './lag.ts'
import { listProjectors } from './list.ts'
import type { ProjectionsOrder } from './orders.ts'
import { openServers, type OpenServers } from './servers.ts'
import { skipFailedEvent } from './skip.ts'

/** Results go to `out`, complaints and progress to `err`. */
export interface Terminal {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** Carries out an operator's order; resolves to the exit code: 0 done or equal, 1 different or failed. */
export async function runProjections(order: ProjectionsOrder, env: Environment, terminal: Terminal): Promise<number> {
  const servers = await openServers(env)
  try {
    const results = await clearly('DATABASE_URL', () => carriedOut(order, servers))
    for (const { text, isDone } of results) {
      if (isDone || isData(order)) terminal.out(text)
      else terminal.err(`${text}\n`)
    }
    return results.every(({ isDone }) => isDone) ? 0 : 1
  } finally {
    await servers.close()
  }
}

async function carriedOut(order: ProjectionsOrder, servers: OpenServers): Promise<readonly Told[]> {
  const { pool } = servers
  switch (order.action) {
    case 'list': return [{ text: await listProjectors(pool, order.isJson), isDone: true }]
    case 'lag': return [{ text: await projectionLag(pool, await servers.eventStore(), order.isJson), isDone: true }]
    case 'retry': return [await retryProjector(pool, order.name)]
    case 'skip': return [await skipFailedEvent(pool, await servers.eventStore(), order)]
  }
}

/** Somebody's program reads it: it belongs to the output, whatever it says. */
function isData(order: ProjectionsOrder): boolean {
  return 'isJson' in order && order.isJson
}
