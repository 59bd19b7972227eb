import { parseArgs } from 'node:util'
import { Check } from 'typebox/schema'
import type { RetryOrder } from '../../contracts/operations/operations.ts'
import { WorkKind, WorkState } from '../../contracts/operations/record.ts'
import { defaultLimit, greatestLimit } from '../../platform/http/cursors.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'

interface Page {
  readonly limit: number
  readonly cursor: string | undefined
  readonly isJson: boolean
}

export interface WorkFilterOrder {
  readonly orgId: TenantId | null
  readonly kind: WorkKind | undefined
  readonly process: string | undefined
  readonly step: string | undefined
  readonly states: readonly WorkState[] | undefined
  readonly failingWith: string | undefined
}

export type WorkOrder =
  | ({ readonly action: 'list-work'; readonly filter: WorkFilterOrder } & Page)
  | ({ readonly action: 'list-groups'; readonly orgId: TenantId | null } & Page)
  | ({ readonly action: 'list-relays' } & Page)
  | { readonly action: 'show-work' | 'show-group'; readonly id: string; readonly isJson: boolean }
  | {
      readonly action: 'retry'
      readonly target: RetryOrder['target']
      readonly reason: string | null
      /** Until all items have an outcome. */
      readonly isToWait: boolean
      readonly isJson: boolean
    }

export const workUsage = `  steps list  [--kind step|delivery|notification]  [--process NAME]  [--step NAME]  [--state STATE,…]
          [--org ID]  [--failing-with GROUP]  [--limit N]  [--cursor CURSOR]  [--json]
          work of all processes, the oldest first. States: due, waiting, leased, failing, parked
  steps show ID  [--json]
          one piece of work
  steps retry ID  [--reason TEXT]  [--wait]  [--json]
          its next try now. --wait waits for the outcome: exit code 1 if it failed again
  deliveries  [the options of steps list]
          deliveries of webhooks that are not over
  groups list  [--org ID]  [--limit N]  [--cursor CURSOR]  [--json]
          work that fails in the same way, the largest group first
  groups show ID  [--json]
          one failure group, with an example
  groups retry ID  [--reason TEXT]  [--wait]  [--json]
          the same for each item of the group
  relays  [--limit N]  [--cursor CURSOR]  [--json]
          the relays of public channels: state, position, since when it has not moved`

const output = { json: { type: 'boolean', default: false } } as const
const listed = { ...output, limit: { type: 'string' }, cursor: { type: 'string' } } as const
const paged = { ...listed, org: { type: 'string' } } as const
const filters = {
  ...paged,
  kind: { type: 'string' },
  process: { type: 'string' },
  step: { type: 'string' },
  state: { type: 'string' },
  'failing-with': { type: 'string' },
} as const

/** @throws Error with the reason, if there is no such command */
export function readWork(name: 'steps' | 'groups' | 'deliveries' | 'relays', args: readonly string[]): WorkOrder {
  if (name === 'relays')
    return { action: 'list-relays', ...pageOf(parseArgs({ args: [...args], options: listed }).values) }
  if (name === 'deliveries') return readList([...args], 'delivery')
  const [action, ...rest] = args
  if (action === 'show') return readShow(name, rest)
  if (action === 'retry') return readRetry(name, rest)
  if (action !== 'list') throw new Error(`there is no command ${[name, ...args].join(' ')}`)
  if (name === 'steps') return readList(rest)
  const { values } = parseArgs({ args: rest, options: paged })
  return { action: 'list-groups', orgId: organisationOf(values.org), ...pageOf(values) }
}

function readList(args: string[], fixedKind?: WorkKind): WorkOrder {
  const { values } = parseArgs({ args, options: filters })
  const kind = fixedKind ?? values.kind
  if (kind !== undefined && !Check(WorkKind, kind)) throw new Error(`--kind is one of ${WorkKind.enum.join(', ')}`)
  const states = values.state?.split(',').map((state) => {
    if (!Check(WorkState, state)) throw new Error(`--state takes ${WorkState.enum.join(', ')}, several with commas`)
    return state
  })
  const failingWith = values['failing-with']
  if (failingWith !== undefined && !isUuid(failingWith)) throw new Error('--failing-with must be the id of a group')
  const { process, step } = values
  const filter = { orgId: organisationOf(values.org), kind, process, step, states, failingWith }
  return { action: 'list-work', filter, ...pageOf(values) }
}

function readShow(name: 'steps' | 'groups', args: string[]): WorkOrder {
  const { values, positionals } = parseArgs({ args, options: output, allowPositionals: true })
  const [id = '', ...others] = positionals
  if (!isUuid(id) || others.length > 0) throw new Error(`${name} show takes one id, a UUID`)
  return { action: name === 'steps' ? 'show-work' : 'show-group', id: id.toLowerCase(), isJson: values.json }
}

function readRetry(name: 'steps' | 'groups', args: string[]): WorkOrder {
  const options = { ...output, reason: { type: 'string' }, wait: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  const [id = '', ...others] = positionals
  if (!isUuid(id) || others.length > 0) throw new Error(`${name} retry takes one id, a UUID`)
  const { reason = null, wait: isToWait, json: isJson } = values
  if (reason !== null && (reason === '' || reason.length > 500))
    throw new Error('--reason must have 1 to 500 characters')
  const kind = name === 'steps' ? 'step' : 'group'
  return { action: 'retry', target: { kind, id: id.toLowerCase() }, reason, isToWait, isJson }
}

function organisationOf(org: string | undefined): TenantId | null {
  if (org === undefined) return null
  if (!isUuid(org)) throw new Error('--org must be a UUID')
  return tenantOfFact(org.toLowerCase())
}

function pageOf({
  limit,
  cursor,
  json,
}: {
  readonly limit?: string | undefined
  readonly cursor?: string | undefined
  readonly json: boolean
}): Page {
  if (limit !== undefined && !(/^\d{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= greatestLimit))
    throw new Error(`--limit must be a number from 1 to ${greatestLimit}`)
  return { limit: limit === undefined ? defaultLimit : Number(limit), cursor, isJson: json }
}
