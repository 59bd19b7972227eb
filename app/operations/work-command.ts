import type { Static } from 'typebox'
import type { Operations } from '../../contracts/operations/operations.ts'
import type { FailureGroup, OperationsError, RelayState, Retry, WorkItem } from '../../contracts/operations/record.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import type { CursorPlace, PageRows } from '../../platform/http/cursors.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { Problem } from '../../platform/http/problems.ts'
import { newId } from '../../platform/kit/new-id.ts'
import { operatorAccount } from '../operator-account.ts'
import { tableText } from '../projections/list.ts'
import { openServers } from '../projections/servers.ts'
import { clearly } from '../start-errors.ts'
import { awaitedRetry } from './awaited-retry.ts'
import { createOperations } from './operations.ts'
import type { WorkOrder } from './work-orders.ts'

interface Printed {
  readonly text: string
  readonly code: number
  /** The text is no result, but why there is none. */
  readonly isRefusal?: true
}

/** How an operator calls it. */
const commandOf: Readonly<Record<WorkOrder['action'], string>> = {
  'list-work': 'steps list',
  'list-groups': 'groups list',
  'list-relays': 'relays',
  'show-work': 'steps show',
  'show-group': 'groups show',
  retry: 'retry',
}

/** What the routes about work answer, over the servers themselves. Exit code 1 for an unknown id. */
export async function runWork(order: WorkOrder, env: Environment): Promise<Printed> {
  const servers = await openServers(env, commandOf[order.action])
  try {
    const { pool, configuration } = servers
    const { failedRetentionSeconds } = configuration
    const operations = createOperations({
      pool,
      failedRetentionSeconds,
      store: () => servers.eventStore(),
      now: () => new Date(),
    })
    return await clearly('DATABASE_URL', () => printed(operations, order))
  } finally {
    await servers.close()
  }
}

async function printed(operations: Operations, order: WorkOrder): Promise<Printed> {
  switch (order.action) {
    case 'list-work': {
      const after = placeOf(order.cursor, ([at, id]) => Date.parse(String(at)) > 0 && isUuid(String(id)))
      const found = await operations.work(order.filter, { limit: order.limit, after })
      return pageText(found, order.isJson, workTable)
    }
    case 'list-groups':
      return partText(await operations.groups(order.orgId), order, groupTable)
    case 'list-relays':
      return partText(await operations.relays(), order, relayTable)
    case 'show-work':
      return oneText(await operations.workItem(null, order.id), order, workTable)
    case 'show-group':
      return oneText(
        (await operations.groups(null)).find(({ id }) => id === order.id),
        order,
        groupTable,
      )
    case 'retry':
      return retried(operations, order)
  }
}

type RetryCommand = Extract<WorkOrder, { action: 'retry' }>

/** A processor carries it out. Exit code 1 if it is refused, if something failed again, or if no processor runs. */
async function retried(operations: Operations, { target, reason, isToWait, isJson }: RetryCommand): Promise<Printed> {
  const commandId = newId()
  const order = { id: newId(), target, orgId: null, reason, actor: { kind: 'command', id: operatorAccount() } } as const
  const context = { commandId, correlationId: commandId, clientId: 'platform' }
  let retry: Retry
  try {
    ;({ retry } = await operations.retry({ ...order, context }))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.code === 'not-found') return refusal(`there is no ${target.id} any more, or it never was`)
    return refusal(`${target.id}: ${error.message}`)
  }
  const { retry: seen, isLeft } = isToWait ? await awaitedRetry(operations, retry) : { retry, isLeft: false }
  const { id, total, waiting, done, failed_again: failedAgain } = seen
  const counts = `${total} items: ${done} done, ${failedAgain} failed again, ${waiting} waiting`
  const left = isLeft ? '. No processor has run for a minute: the next one that starts carries it out' : ''
  const text = isJson ? JSON.stringify(seen, null, 2) : `retry ${id}: ${counts}${left}`
  return { text, code: failedAgain > 0 || isLeft ? 1 : 0 }
}

function oneText<Item>(
  found: Item | undefined,
  { id, isJson }: { id: string; isJson: boolean },
  table: TableOf<Item>,
): Printed {
  if (found === undefined) return refusal(`there is no ${id} any more, or it never was`)
  return { text: isJson ? JSON.stringify(found, null, 2) : table([found]), code: 0 }
}

function refusal(text: string): Printed {
  return { text, code: 1, isRefusal: true }
}

type TableOf<Item> = (items: readonly Item[]) => string

function pageText<Item>({ rows, hasMore, reached }: PageRows<Item>, isJson: boolean, table: TableOf<Item>): Printed {
  const cursor = hasMore && reached !== undefined ? cursorOf(reached) : null
  if (isJson) return { text: JSON.stringify({ data: rows, next_cursor: cursor, has_more: hasMore }, null, 2), code: 0 }
  const more = cursor === null ? [] : ['', `more: --cursor ${cursor}`]
  return { text: [rows.length === 0 ? 'none' : table(rows), ...more].join('\n'), code: 0 }
}

/** A page of a short list. Its place is the number of items before it. */
function partText<Item>(
  items: readonly Item[],
  { limit, cursor, isJson }: { readonly limit: number; readonly cursor: string | undefined; readonly isJson: boolean },
  table: TableOf<Item>,
): Printed {
  const from = Number(placeOf(cursor, ([place]) => Number.isSafeInteger(place))?.[0] ?? 0)
  const rows = items.slice(from, from + limit)
  return pageText({ rows, hasMore: items.length > from + rows.length, reached: [from + rows.length] }, isJson, table)
}

/** The operator reads the tables themselves, so that a cursor needs no seal. */
function cursorOf(place: CursorPlace): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

function placeOf(cursor: string | undefined, isPlace: (place: readonly unknown[]) => boolean): CursorPlace | null {
  if (cursor === undefined) return null
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const isWritten =
      Array.isArray(place) && place.every((part) => typeof part === 'string' || typeof part === 'number')
    if (isWritten && isPlace(place)) return place
  } catch {
    // Refused below.
  }
  throw new Error('--cursor is none that this command printed')
}

function workTable(items: readonly WorkItem[]): string {
  return tableText([
    ['ID', 'WORK', 'STATE', 'DUE', 'NEXT TRY', 'FAILURES', 'ERROR', 'SUBJECT'],
    ...items.map(({ id, process, step, state, due_at: due, next_try_at: next, failures, error, subject }) => [
      id,
      `${process}.${step}`,
      state,
      due,
      next ?? '-',
      String(failures),
      errorText(error),
      subject === null ? '-' : `${subject.kind} ${subject.id}`,
    ]),
  ])
}

function groupTable(groups: readonly FailureGroup[]): string {
  return tableText([
    ['ID', 'WORK', 'COUNT', 'ORGANISATIONS', 'SINCE', 'LAST', 'ERROR', 'EXAMPLE'],
    ...groups.map(
      ({ id, process, step, count, organisations, first_failed_at: since, last_failed_at: last, error, example }) => [
        id,
        `${process}.${step}`,
        String(count),
        String(organisations),
        since,
        last,
        errorText(error),
        example?.id ?? '-',
      ],
    ),
  ])
}

function relayTable(relays: readonly RelayState[]): string {
  return tableText([
    ['CHANNEL', 'STATE', 'POSITION', 'SECONDS SINCE MOVE'],
    ...relays.map(({ channel, state, position, seconds_since_move: seconds }) => [
      channel,
      state,
      position ?? '-',
      seconds === null ? '-' : String(seconds),
    ]),
  ])
}

export function errorText(error: Static<typeof OperationsError> | null): string {
  if (error === null) return '-'
  return [error.class, error.code, error.host].filter((part) => part !== null).join(' ')
}
