import type { Pool, PoolClient } from 'pg'
import type { Logger } from '../../platform/logging.ts'
import type { Advance } from '../../projections/runtime/runner-options.ts'
import { backoffMs, pause } from '../../streams/store/backoff.ts'

/** Postgres channel on which projectors tell workers of other processes that to-do lists have changed. */
const channel = 'todo_lists'

interface AdvanceSource {
  onAdvance(listener: (advance: Advance) => void): () => void
}

/** Names of the lists whose to-do tables a batch has changed. */
export function changedLists(advance: Advance): string[] {
  return advance.changed.filter((table) => table.endsWith('.todo')).map((table) => table.slice(0, -'.todo'.length))
}

/**
 * Tells workers elsewhere of changed lists, on a connection of its own: `NOTIFY` in a transaction takes a lock of the
 * whole server at commit. Batches that come while one is being told are told together. Returns how to stop.
 */
export function notifyWorkers(runner: AdvanceSource, pool: Pool, logger: Logger): () => Promise<void> {
  const waiting = new Set<string>()
  let telling: Promise<void> | undefined

  const unsubscribe = runner.onAdvance((advance) => {
    for (const list of changedLists(advance)) waiting.add(list)
    if (waiting.size > 0) telling ??= tell()
  })

  async function tell(): Promise<void> {
    while (waiting.size > 0) {
      const lists = [...waiting].join(' ')
      waiting.clear()
      try {
        await pool.query('select pg_notify($1, $2)', [channel, lists])
      } catch (error) {
        // Workers poll too, so a lost word costs them a second.
        logger.warn({ component: 'processes', err: error }, 'workers could not be told of new work')
      }
    }
    telling = undefined
  }

  return async () => {
    unsubscribe()
    await telling
  }
}

/** Listens for changed lists until the signal aborts, through lost connections; `onWork` is also called once connected. */
export async function listenForLists(pool: Pool, onWork: () => void, logger: Logger, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      const client = await pool.connect()
      await untilLost(client, onWork, signal)
      attempt = 1
    } catch (error) {
      logger.warn({ component: 'processes', attempt, err: error }, 'listening for new work ended')
    }
    await pause(backoffMs({ firstMs: 100, mostMs: 5_000 }, attempt), signal)
  }
}

async function untilLost(client: PoolClient, onWork: () => void, signal: AbortSignal): Promise<void> {
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve())
    client.on('end', () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  try {
    client.on('notification', onWork)
    await client.query(`listen ${channel}`)
    onWork()
    await lost
  } finally {
    client.release(true)
  }
}
