import { Type, type Static, type TObject } from 'typebox'
import { Compile } from 'typebox/schema'
import { atFirstUse } from '../../platform/kit/at-first-use.ts'
import { type CommandContext, noOrganisation, tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import type { Handler, Projector, RowChange, SealedEvents, Table } from '../projections/projector.ts'
import type { DomainEvent, RecordedEvent } from '../store/events.ts'
import type { Process, Step, StepContext, StepOutcome } from './process.ts'
import { attemptCommand, causeIn, stepCommand, type Cause } from './step-identity.ts'
import { TodoList, type ListedStep, type ListedSteps } from './todo-list.ts'
import { keyedTodoTable, todoTable, type TodoTable } from './todo-tables.ts'

/** The payload of a step that needs only the key. */
export const Nothing = Type.Object({})

/** A row of the to-do list, as a step receives it. */
export interface Todo<Payload = object> {
  readonly key: string
  readonly orgId: TenantId
  readonly dueAt: Date
  readonly payload: Payload
  readonly cause: Cause
  /** The command of an append that follows from this row alone. Name and key: see `step-identity.ts`. */
  command(name: string, key?: string): CommandContext
  /** The command that opens an attempt. It is new on each call. */
  attempt(): CommandContext
}

interface StepDefinition<Payload extends TObject, IsKeyed extends boolean, Deps> extends ListedStep {
  readonly payload: Payload
  readonly isKeyed: IsKeyed
  readonly runIn: (process: string) => Step<Deps>
}
type StepDefinitions<Deps> = Readonly<Record<string, StepDefinition<TObject, boolean, Deps>>>

export type StepFunction<Payload, Deps> = (
  todo: Todo<Payload>,
  deps: Deps,
  context: StepContext,
) => Promise<StepOutcome>

function defineStep<IsKeyed extends boolean>(isKeyed: IsKeyed) {
  return <Payload extends TObject, Deps>(
    payload: Payload,
    run: StepFunction<Static<Payload>, Deps>,
  ): StepDefinition<Payload, IsKeyed, Deps> => ({ payload, isKeyed, runIn: checked(payload, run) })
}

/** The payload of its rows is checked before the step runs. */
export const step = defineStep(false)
/** A step that calls one of many receivers: its rows have a concurrency key. */
export const keyedStep = defineStep(true)

function checked<Payload extends TObject, Deps>(schema: Payload, run: StepFunction<Static<Payload>, Deps>) {
  const validator = atFirstUse(() => Compile(schema))
  return (process: string): Step<Deps> =>
    ({ key, step: name, orgId, dueAt, payload }, deps, context) => {
      if (orgId === null) throw new TypeError(`a ${name} row names no organisation`)
      const cause = causeIn(payload)
      if (cause === undefined || !validator().Check(payload)) throw new TypeError(`a ${name} row has another payload`)
      const by = { process, orgId: orgId === noOrganisation ? undefined : orgId, ...cause }
      const todo = {
        key,
        orgId: tenantOfFact(orgId),
        dueAt,
        payload,
        cause,
        command: (command: string, of?: string) => stepCommand({ ...by, name: command, key: of }),
        attempt: () => attemptCommand(by),
      }
      return run(todo, deps, context)
    }
}

type Reactions<Events extends DomainEvent, Steps extends ListedSteps> = {
  readonly [Type in Events['type']]?: (
    event: RecordedEvent<SealedEvents<Extract<Events, { type: Type }>>>,
    todo: TodoList<Steps>,
  ) => readonly RowChange[]
}

interface Definition<Events extends DomainEvent, Steps extends StepDefinitions<Deps>, Deps, Lookup extends Table>
  extends Pick<Process<Deps>, 'name' | 'concurrency'>, Pick<Projector, 'version' | 'decisive'> {
  /** Tables beside the list, with members of earlier events that later events need. */
  readonly lookups?: readonly Lookup[]
  readonly steps: Steps
  /** The changes that each event makes to the list and to the lookups. Pure. Personal members are sealed. */
  readonly on: Reactions<Events, Steps>
}

/** Declared as a method, so the reaction to one event type needs no cast. */
type Reaction<Steps extends ListedSteps> = {
  react(event: RecordedEvent, todo: TodoList<Steps>): readonly RowChange[]
}['react']

/** `defineProcess<Events, Deps>()({ … })`: the work that follows each event. Its list is the projector `<name>_todo`. */
export function defineProcess<Events extends DomainEvent, Deps>() {
  return <Steps extends StepDefinitions<Deps>, Lookup extends Table = never>(
    definition: Definition<Events, Steps, Deps, Lookup>,
  ): Process<Deps, TodoTable | Lookup> => {
    const { name, version, lookups = [], steps, on, concurrency, decisive = false } = definition
    const table = concurrency === undefined ? todoTable : keyedTodoTable
    if (concurrency === undefined && Object.values(steps).some(({ isKeyed }) => isKeyed))
      throw new TypeError(`process ${name} has a step with concurrency keys, and no limits for them`)
    const handlers: Record<string, Handler> = {}
    for (const [type, react] of Object.entries<Reaction<Steps> | undefined>(on))
      if (react !== undefined) handlers[type] = (event) => react(event, new TodoList(event, table))
    return {
      name,
      list: {
        name: `${name}_todo`,
        version,
        decisive,
        isUrgent: (changes, event) => changes.some((change) => makesDue(change, event)),
        tables: [table, ...lookups],
        handlers,
      },
      steps: Object.fromEntries(Object.entries(steps).map(([step, { runIn }]) => [step, runIn(name)])),
      ...(concurrency === undefined ? {} : { concurrency }),
    }
  }
}

/** Rows that are due later come with a later batch, too. */
const soonMs = 500

function makesDue(change: RowChange, { recordedAt }: Pick<RecordedEvent, 'recordedAt'>): boolean {
  if (change.table !== todoTable.name || change.op === 'remove' || change.op === 'remove-where') return false
  let due: unknown
  if (change.op === 'insert-select') {
    if (change.mayWait === true) return false
    const from = change.columns['due_at']
    // The database alone knows when rows of another table are due.
    if (from === undefined || !('value' in from)) return true
    due = from.value
  } else due = 'row' in change ? change.row['due_at'] : change.set['due_at']
  return typeof due === 'string' && Date.parse(due) <= Date.parse(recordedAt) + soonMs
}
