import { randomUUID } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import type { BatchPart } from '../projections/checkpoint-moves.ts'
import type { ProjectionRunner } from '../projections/runner.ts'
import type { Advance } from '../projections/runner-options.ts'
import { prepared } from '../../platform/database/prepared.ts'
import { pause } from '../../platform/kit/backoff.ts'
import type { TodoRow } from './process.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { retryUntilDone } from './retry-until-done.ts'
import { todoTable } from './todo-tables.ts'

/**
 * Postgres channel for the names of to-do lists that have changed. The first word names the sender. Instead of lists, a
 * listener says `hello` when it connects, and others answer it by `here`.
 */
const channel = 'todo_lists'
const ourName = randomUUID()
const [hello, here] = ['hello', 'here']
/** The time between two greetings of a listener, and the time that others have for an answer, in milliseconds. */
const helloMs = 60_000
const answerMs = 2_000
/** Between a connection of a listener that was lost and the next one, in milliseconds. */
const againMs = 100

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

/** What a batch did to a row of a list. */
export interface RowNews {
  /** Undefined if the database alone knows it. */
  readonly key: string | undefined
  /** Undefined: each row of the key. */
  readonly step: string | undefined
  /** When the row is due, in milliseconds. Infinity if it was removed. */
  readonly dueMs: number
  /** The end of the batch. */
  readonly position: Position
}

/** `unknown`: the database alone knows. */
export type ListNews = readonly RowNews[] | 'unknown'

/** What a batch did to each list. */
export function newsOf({ projectors, parts }: Advance): ReadonlyMap<string, ListNews> {
  if (parts === undefined) return new Map(projectors.map((name) => [name, 'unknown']))
  const lists = parts.filter(({ writes }) => writes.some(({ table }) => table === todoTable.name))
  return new Map(lists.map((part) => [part.projector.name, newsIn(part)]))
}

/** Whether a row may be due that was not before. A removal makes nothing due. */
export function makesWork(news: ListNews): boolean {
  return news === 'unknown' || news.some(({ dueMs }) => dueMs !== Infinity)
}

function newsIn({ writes, to: position }: BatchPart): ListNews {
  const news: RowNews[] = []
  for (const { table, statement } of writes) {
    const { effect } = statement
    if (table !== todoTable.name) continue
    if (effect.kind === 'other') return 'unknown'
    if (effect.kind === 'insert-select') {
      for (const { columns } of effect.changes) {
        const due = columns['due_at']
        if (due === undefined || !('value' in due)) return 'unknown'
        news.push({ key: undefined, step: undefined, dueMs: Date.parse(String(due.value)), position })
      }
    } else if (effect.kind === 'remove-where') {
      for (const { where } of effect.changes) {
        const { key, step, ...others } = where
        // Another condition may not hold for a row. Then a claim finds that it is gone.
        if (typeof key !== 'string' || Object.keys(others).length > 0) continue
        news.push({ key, step: typeof step === 'string' ? step : undefined, dueMs: Infinity, position })
      }
    } else if (effect.op !== 'check') {
      for (const { key, step, due_at: at } of statement.rows) {
        if (effect.op !== 'delete' && at === undefined) continue
        const dueMs = effect.op === 'delete' ? Infinity : Date.parse(String(at))
        news.push({ key: String(key), step: String(step), dueMs, position })
      }
    }
  }
  return news
}

export function rowsIn({ writes }: BatchPart): TodoRow[] {
  return writes.flatMap(({ table, statement: { effect, rows } }) => {
    const areNew = effect.kind === 'rows' && (effect.op === 'insert' || effect.op === 'upsert')
    if (table !== todoTable.name || !areNew) return []
    return rows.map(({ key, step, org_id: orgId, due_at: dueAt, payload }) => ({
      key: String(key),
      step: String(step),
      orgId: typeof orgId === 'string' ? orgId : null,
      dueAt: new Date(String(dueAt)),
      // As it is read from the table.
      payload: JSON.parse(JSON.stringify(payload)) as unknown,
    }))
  })
}

/**
 * Wakes workers of other instances, on a connection of its own: `NOTIFY` in a transaction takes a lock of the whole
 * server at commit. Lists that change during a notification share the next one. Returns how to stop.
 */
export function notifyWorkers(
  runner: Pick<ProjectionRunner, 'onAdvance'>,
  pool: Pool,
  logger: Logger,
  listeners: Pick<Listeners, 'mayBeOthers'>,
): () => Promise<void> {
  const waiting = new Set<string>()
  let sending: Promise<void> | undefined

  const unsubscribe = runner.onAdvance((advance) => {
    if (!listeners.mayBeOthers()) return
    for (const [list, news] of newsOf(advance)) if (makesWork(news)) waiting.add(list)
    if (waiting.size > 0) sending ??= send()
  })

  async function send(): Promise<void> {
    while (waiting.size > 0) {
      const lists = [...waiting]
      waiting.clear()
      try {
        await notifyOfLists(pool, lists)
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

/** Wakes the workers of other instances for lists whose rows became claimable without an event. */
export async function notifyOfLists(via: Pick<Pool, 'query'>, lists: readonly string[]): Promise<void> {
  await via.query(prepared('select pg_notify($1, $2)', [channel, [ourName, ...lists].join(' ')]))
}

/** These lists have changed. Undefined: notifications may have been lost before. */
type HearLists = (lists: readonly string[] | undefined, isFromHere: boolean) => void

/** Listens for changed lists until the signal aborts, through lost connections. */
export async function listenForLists(
  pool: Pool,
  hear: HearLists,
  listeners: Listeners,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await retryUntilDone(async () => untilLost(await pool.connect(), hear, listeners, signal), logger, signal)
    await pause(againMs, signal)
  }
}

async function untilLost(
  client: PoolClient,
  hear: HearLists,
  listeners: Listeners,
  signal: AbortSignal,
): Promise<void> {
  const { promise: lost, resolve } = Promise.withResolvers<void>()
  const end = () => resolve()
  client.on('error', end)
  client.on('end', end)
  signal.addEventListener('abort', end)
  // It may have aborted while the connection was being opened.
  if (signal.aborted) end()
  // A connection whose other end is gone stays open. Only a statement without an answer shows it.
  const say = (word: string, said?: () => void) => void notifyOfLists(client, [word]).then(said, end)
  const greet = () => say(hello, () => listeners.saidHello())
  const greeting = setInterval(greet, helloMs)
  try {
    client.on('notification', ({ payload = '' }) => {
      const [sender = '', ...words] = payload.split(' ')
      const isFromHere = sender === ourName
      if (!isFromHere) listeners.heard(sender)
      if (words[0] === hello && !isFromHere) say(here)
      if (words[0] !== hello && words[0] !== here) hear(words, isFromHere)
    })
    await client.query(`listen ${channel}`)
    hear(undefined, false)
    greet()
    await lost
  } finally {
    clearInterval(greeting)
    signal.removeEventListener('abort', end)
    listeners.lost()
    client.release(true)
  }
}
