import { randomUUID } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import type { Advance } from '../projections/runner-options.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'

/** Postgres channel for the names of to-do lists that have changed. The first word names the sender. */
const channel = 'todo_lists'
const ourName = randomUUID()

export interface AdvanceSource {
  onAdvance(listener: (advance: Advance) => void): () => void
}

/** Names of the lists whose to-do tables a batch has changed. */
export function changedLists(advance: Advance): string[] {
  return advance.changed.filter((table) => table.endsWith('.todo')).map((table) => table.slice(0, -'.todo'.length))
}

/**
 * Wakes workers of other instances, on a connection of its own: `NOTIFY` in a transaction takes a lock of the whole
 * server at commit. Lists that change during a notification share the next one. Returns how to stop.
 */
export function notifyWorkers(runner: AdvanceSource, pool: Pool, logger: Logger): () => Promise<void> {
  const waiting = new Set<string>()
  let sending: Promise<void> | undefined

  const unsubscribe = runner.onAdvance((advance) => {
    for (const list of changedLists(advance)) waiting.add(list)
    if (waiting.size > 0) sending ??= send()
  })

  async function send(): Promise<void> {
    while (waiting.size > 0) {
      const words = [ourName, ...waiting].join(' ')
      waiting.clear()
      try {
        await pool.query('select pg_notify($1, $2)', [channel, words])
      } catch (error) {
        // Workers poll too, so a lost notification delays them by a second.
        logger.warn({ component: 'processes', err: error }, 'workers could not be notified of new work')
      }
    }
    sending = undefined
  }

  return async () => {
    unsubscribe()
    await sending
  }
}

interface ListListener {
  /** Notifications may have been lost before. */
  connected(): void
  changed(lists: readonly string[], isFromHere: boolean): void
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
      await untilLost(await pool.connect(), listener, signal)
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
    client.on('notification', ({ payload = '' }) => {
      const [sender, ...lists] = payload.split(' ')
      listener.changed(lists, sender === ourName)
    })
    await client.query(`listen ${channel}`)
    listener.connected()
    await lost
  } finally {
    client.release(true)
  }
}
