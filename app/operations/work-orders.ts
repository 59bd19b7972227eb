import { Option, type Command } from '@commander-js/extra-typings'
import { Check } from 'typebox/schema'
import type { RetryOrder } from '../../contracts/operations/operations.ts'
import { WorkKind, WorkState } from '../../contracts/operations/record.ts'
import { defaultLimit, greatestLimit } from '../../platform/http/cursors.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { processes } from '../../processes/registry.ts'
import { example, must, numberFrom, textUpTo, uuid, type Define } from '../command-options.ts'

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

const exampleId = '6d0f0f6e-5bb1-5f0e-9f0e-0a7f0b7c1d2e'

/** The steps of each process. */
const stepsOf = new Map(processes.map(({ name, steps }) => [name, Object.keys(steps)]))
const organisation = (text: string): TenantId => tenantOfFact(uuid(text))
const states = must(`one of ${WorkState.enum.join(', ')}, or several with commas`, (text) => {
  const named = text.split(',')
  return named.every((state) => Check(WorkState, state)) ? named : undefined
})

/** Options of each list. */
function pages(command: Command) {
  return command
    .option('--limit <n>', 'items of a page', numberFrom(1, greatestLimit), defaultLimit)
    .option('--cursor <cursor>', 'the page after this one')
    .option('--json', 'as the route answers it')
}

function pagesOfOne(command: Command) {
  return pages(command).option('--org <id>', 'only of this organisation', organisation)
}

/** Lists work, of one kind or of the one that is asked for. */
function listOf(command: Command, choose: (order: WorkOrder) => void, only?: WorkKind): void {
  const listed = pagesOfOne(command)
    .addOption(new Option('--process <name>', 'only of this process').choices([...stepsOf.keys()]))
    .addOption(new Option('--step <name>', 'only this step').choices([...new Set([...stepsOf.values()].flat())]))
    .option('--state <states>', WorkState.enum.join(', '), states)
    .option('--failing-with <group>', 'only of this failure group', uuid)
  if (only === undefined) listed.addOption(new Option('--kind <kind>', 'only of this kind').choices(WorkKind.enum))
  listed.action(({ limit, cursor, json: isJson = false, org, process, step, state, failingWith }) => {
    // An empty list would read as if all were well.
    const known = process === undefined ? undefined : stepsOf.get(process)
    if (step !== undefined && known?.includes(step) === false)
      return command.error(`error: ${process} has no step ${step}: its steps are ${known.join(', ')}`)
    const chosen: unknown = command.getOptionValue('kind')
    const kind = only ?? (Check(WorkKind, chosen) ? chosen : undefined)
    const filter = { orgId: org ?? null, kind, process, step, states: state, failingWith }
    choose({ action: 'list-work', filter, limit, cursor, isJson })
  })
}

export const defineDeliveries: Define<WorkOrder> = (deliveries, choose) => {
  listOf(deliveries, choose, 'delivery')
  example(deliveries, 'deliveries --state failing')
}

export const defineRelays: Define<WorkOrder> = (relays, choose) => {
  pages(relays).action(({ limit, cursor, json: isJson = false }) =>
    choose({ action: 'list-relays', limit, cursor, isJson }),
  )
  example(relays, 'relays')
}

export const defineSteps: Define<WorkOrder> = (steps, choose) => {
  const list = steps.command('list').description('Work of all processes, the oldest first.')
  listOf(list, choose)
  example(list, 'steps list --state failing,parked')
  const show = steps
    .command('show')
    .description('One piece of work, with its newest retry.')
    .argument('<id>', 'of the work, as steps list shows it', uuid)
    .option('--json', 'as the route answers it')
    .action((id, { json: isJson = false }) => choose({ action: 'show-work', id, isJson }))
  example(show, `steps show ${exampleId}`)
  defineRetry(steps, choose, 'step', 'Gives one failing piece of work its next try now.')
}

export const defineGroups: Define<WorkOrder> = (groups, choose) => {
  const list = groups.command('list').description('Work that fails in the same way, the largest group first.')
  pagesOfOne(list).action(({ limit, cursor, json: isJson = false, org }) =>
    choose({ action: 'list-groups', orgId: org ?? null, limit, cursor, isJson }),
  )
  example(list, 'groups list')
  const show = groups
    .command('show')
    .description('One failure group, with an example and its newest retry.')
    .argument('<id>', 'of the group, as groups list shows it', uuid)
    .option('--json', 'as the route answers it')
    .action((id, { json: isJson = false }) => choose({ action: 'show-group', id, isJson }))
  example(show, `groups show ${exampleId}`)
  defineRetry(groups, choose, 'group', 'Gives each item of a failure group its next try now.')
}

function defineRetry(
  command: Command,
  choose: (order: WorkOrder) => void,
  kind: 'step' | 'group',
  description: string,
): void {
  const retry = command
    .command('retry')
    .description(description)
    .argument('<id>', `as ${kind}s list shows it`, uuid)
    .option('--reason <text>', 'why. Kept and shown to operators: no name of a person', textUpTo(500))
    .option('--wait', 'until each item has an outcome. Exit code 1 if something failed again, or no processor runs')
    .option('--json', 'as the route answers it')
    .action((id, { reason = null, wait: isToWait = false, json: isJson = false }) =>
      choose({ action: 'retry', target: { kind, id }, reason, isToWait, isJson }),
    )
  example(retry, `${kind}s retry ${exampleId} --reason 'the provider is back' --wait`)
}
