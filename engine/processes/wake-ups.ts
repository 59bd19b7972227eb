import { randomUUID } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import type { BatchPart } from '../projections/checkpoint-moves.ts'
import type { Advance } from '../projections/runner-options.ts'
import { prepared } from '../../platform/database/prepared.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { todoTable } from './todo-tables.ts'

/**
 * Postgres channel for the names of to-do lists that have changed. The first word names the sender. Instead of lists, a
 * listener says `hello` when it connects, and others answer it by `here`.
 */
const channel = 'todo_lists'
const notify = 'select pg_notify($1, $2)'
const ourName = randomUUID()
const [hello, here] = ['hello', 'here']
/** A listener says hello as often, and others have so much time for their answer, in milliseconds. */
const helloMs = 60_000
const answerMs = 2_000

/** Whether other instances listen. While nobody can tell, they may. */
export class Listeners {
  #sinceMs = Infinity
  /** Heard since the last hello, and between that one and the one before. */
  #heard = new Set<string>()
  #heardBefore = new Set<string>()

  mayBeOthers(): boolean {
    const isTold = performance.now() - this.#sinceMs >= answerMs
    return !isTold || this.#heard.size + this.#heardBefore.size > 0
  }

  saidHello(): void {
    if (this.#sinceMs === Infinity) this.#sinceMs = performance.now()
    this.#heardBefore = this.#heard
    this.#heard = new Set()
  }

  heard(name: string): void {
    this.#heard.add(name)
  }

  lost(): void {
    this.#sinceMs = Infinity
  }
}

export interface AdvanceSource {
  onAdvance(listener: (advance: Advance) => void): () => void
}

/** Instants at which new or moved rows of a list are due, in milliseconds. `unknown` if the database alone knows them. */
export type NewWork = readonly number[] | 'unknown'

/** The lists in which a batch made or moved rows. A removal makes nothing due. */
export function newWorkOf({ changed, parts }: Advance): ReadonlyMap<string, NewWork> {
  const lists = changed.filter((table) => table.endsWith('.todo')).map((table) => table.slice(0, -'.todo'.length))
  const works = lists.map((list): [string, NewWork] => [list, parts === undefined ? 'unknown' : workIn(list, parts)])
  return new Map(works.filter(([, work]) => work.length > 0))
}

function workIn(list: string, parts: readonly BatchPart[]): NewWork {
  const due: number[] = []
  const writes = parts.filter(({ projector }) => projector.name === list).flatMap((part) => part.writes)
  for (const { table, statement } of writes) {
    if (table !== todoTable.name || statement.effect.kind === 'remove-where') continue
    if (statement.effect.kind !== 'rows') return 'unknown'
    const moves = statement.effect.op !== 'delete' && statement.effect.op !== 'check'
    for (const row of statement.rows) if (moves && 'due_at' in row) due.push(Date.parse(String(row['due_at'])))
  }
  return due
}

/**
 * Wakes workers of other instances, on a connection of its own: `NOTIFY` in a transaction takes a lock of the whole
 * server at commit. Lists that change during a notification share the next one. Returns how to stop.
 */
export function notifyWorkers(
  runner: AdvanceSource,
  pool: Pool,
  logger: Logger,
  listeners: Pick<Listeners, 'mayBeOthers'>,
): () => Promise<void> {
  const waiting = new Set<string>()
  let sending: Promise<void> | undefined

  const unsubscribe = runner.onAdvance((advance) => {
    if (!listeners.mayBeOthers()) return
    for (const list of newWorkOf(advance).keys()) waiting.add(list)
    if (waiting.size > 0) sending ??= send()
  })

  async function send(): Promise<void> {
    while (waiting.size > 0) {
      const words = [ourName, ...waiting].join(' ')
      waiting.clear()
      try {
        await pool.query(prepared(notify, [channel, words]))
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
  listeners: Listeners,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      await untilLost(await pool.connect(), listener, listeners, signal)
      attempt = 1
    } catch (error) {
      logger.warn({ component: 'processes', attempt, err: error }, 'listening for new work ended')
    }
    await pause(backoffMs({ firstMs: 100, mostMs: 5_000 }, attempt), signal)
  }
}

async function untilLost(
  client: PoolClient,
  listener: ListListener,
  listeners: Listeners,
  signal: AbortSignal,
): Promise<void> {
  const lost = new Promise<void>((resolve) => {
    client.on('error', () => resolve())
    client.on('end', () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
    // It may have aborted while the connection was being opened.
    if (signal.aborted) resolve()
  })
  // A lost connection ends the wait. Its failure needs no report of its own.
  const say = (word: string) =>
    void client.query(prepared(notify, [channel, `${ourName} ${word}`])).catch(() => undefined)
  const greeting = setInterval(() => {
    say(hello)
    listeners.saidHello()
  }, helloMs)
  try {
    client.on('notification', ({ payload = '' }) => {
      const [sender = '', ...words] = payload.split(' ')
      const isFromHere = sender === ourName
      if (!isFromHere) listeners.heard(sender)
      if (words[0] === hello && !isFromHere) say(here)
      if (words[0] !== hello && words[0] !== here) listener.changed(words, isFromHere)
    })
    await client.query(`listen ${channel}`)
    listener.connected()
    say(hello)
    listeners.saidHello()
    await lost
  } finally {
    clearInterval(greeting)
    listeners.lost()
    client.release(true)
  }
}
