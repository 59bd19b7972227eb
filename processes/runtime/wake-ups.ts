import type { Pool, PoolClient } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import type { Advance } from '../../projections/runtime/runner-options.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { formatPosition, parsePosition, type Position } from '../../platform/kit/positions.ts'

/** Postgres channel on which projectors tell workers of other processes that to-do lists have changed. */
const channel = 'todo_lists'

interface AdvanceSource {
  onAdvance(listener: (advance: Advance) => void): () => void
}

/** Names of the lists whose to-do tables a batch has changed. */
export function changedLists(advance: Advance): string[] {
  return advance.changed.filter((table) => table.endsWith('.todo')).map((table) => table.slice(0, -'.todo'.length))
}

/** A list that has changed, and up to where it is stored; older versions of this program do not say. */
export interface ListWord {
  readonly list: string
  readonly position: Position | undefined
}

function wordsOf(payload: string | undefined): ListWord[] {
  return (payload ?? '').split(' ').map((word) => {
    const [list = '', position = ''] = word.split('@')
    return { list, position: parsePosition(position) }
  })
}

/**
 * Tells workers elsewhere of changed lists, on a connection of its own: `NOTIFY` in a transaction takes a lock of the
 * whole server at commit. Batches that come while one is being told are told together. Returns how to stop.
 */
export function notifyWorkers(runner: AdvanceSource, pool: Pool, logger: Logger): () => Promise<void> {
  const waiting = new Map<string, Position>()
  let telling: Promise<void> | undefined

  const unsubscribe = runner.onAdvance((advance) => {
    for (const list of changedLists(advance)) waiting.set(list, advance.position)
    if (waiting.size > 0) telling ??= tell()
  })

  async function tell(): Promise<void> {
    while (waiting.size > 0) {
      const lists = [...waiting].map(([list, position]) => `${list}@${formatPosition(position)}`).join(' ')
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

export interface ListListener {
  /** There may have been words that were not heard. */
  connected(): void
  told(words: readonly ListWord[]): void
}

/** Listens for changed lists until the signal aborts, through lost connections. */
export async function listenForLists(
  pool: Pool,
  listener: ListListener,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      const client = await pool.connect()
      await untilLost(client, listener, signal)
      attempt = 1
    } catch (error) {
      logger.warn({ component: 'processes', attempt, err: error }, 'listening for new work ended')
    }
    await pause(backoffMs({ firstMs: 100, mostMs: 5_000 }, attempt), signal)
  }
}

async function untilLost(client: PoolClient, listener: ListListener, signal: AbortSignal): Promise<void> {
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve())
    client.on('end', () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
    // It may have aborted while the connection was being opened.
    if (signal.aborted) resolve()
  })
  try {
    client.on('notification', ({ payload }) => listener.told(wordsOf(payload)))
    await client.query(`listen ${channel}`)
    listener.connected()
    await lost
  } finally {
    client.release(true)
  }
}
