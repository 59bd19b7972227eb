import { Type, type Static, type TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import { type CommandContext, noOrganisation, tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import type { Handler, Projector, RowChange, Table } from '../../projections/runtime/projector.ts'
import type { DomainEvent, RecordedEvent } from '../../streams/store/events.ts'
import type { Process, Step, StepContext, StepOutcome } from './process.ts'
import { attemptCommand, Cause, stepCommand } from './step-identity.ts'
import { TodoList, type ListedStep } from './todo-list.ts'
import { laneTodoTable, todoTable } from './todo-tables.ts'

/** The payload of a step that needs only the key of its row. */
export const Nothing = Type.Object({})

/** A row of the to-do list, as a step gets it. */
export interface Todo<Payload = object> {
  readonly key: string
  readonly orgId: TenantId
  readonly dueAt: Date
  readonly payload: Payload
  readonly cause: Cause
  /**
   * The command of an append that follows from this row alone. The name is `<process>.<step>`, or a finer one where a step
   * appends several times. Rows that one event makes due for several records need the key as well.
   */
  command(name: string, key?: string): CommandContext
  /** The command that begins an attempt at something outside: another one on each call. */
  attempt(): CommandContext
}

interface StepDefinition<Payload extends TObject, HasLane extends boolean, Deps> extends ListedStep {
  readonly payload: Payload
  readonly hasLane: HasLane
  readonly run: Step<Deps>
}

type StepFunction<Payload extends TObject, Deps> = (
  todo: Todo<Static<Payload>>,
  deps: Deps,
  context: StepContext,
) => Promise<StepOutcome>

/** A step, and the payload that its rows contain. The payload of a row is checked before the step runs. */
export function step<Payload extends TObject, Deps>(
  payload: Payload,
  run: StepFunction<Payload, Deps>,
): StepDefinition<Payload, false, Deps> {
  return { payload, hasLane: false, run: checked(payload, run) }
}

/** A step that calls a receiver: its rows name a lane. */
export function laneStep<Payload extends TObject, Deps>(
  payload: Payload,
  run: StepFunction<Payload, Deps>,
): StepDefinition<Payload, true, Deps> {
  return { payload, hasLane: true, run: checked(payload, run) }
}

const caused = Compile(Type.Object({ cause: Cause }))

function checked<Payload extends TObject, Deps>(schema: Payload, run: StepFunction<Payload, Deps>): Step<Deps> {
  const validator = Compile(schema)
  return ({ key, step: name, orgId, dueAt, payload }, deps, context) => {
    if (orgId === null) throw new TypeError(`a ${name} row names no organisation`)
    if (!caused.Check(payload) || !validator.Check(payload)) throw new TypeError(`a ${name} row has another payload`)
    const { cause } = payload
    const owner = orgId === noOrganisation ? undefined : orgId
    const todo = {
      key,
      orgId: tenantOfFact(orgId),
      dueAt,
      payload,
      cause,
      command: (command: string, of?: string) => stepCommand({ name: command, ...cause, key: of, orgId: owner }),
      attempt: () => attemptCommand(owner, cause),
    }
    return run(todo, deps, context)
  }
}

type Reactions<Events extends DomainEvent, Steps extends Readonly<Record<string, ListedStep>>> = {
  readonly [Type in Events['type']]?: (
    event: RecordedEvent<Extract<Events, { type: Type }>>,
    todo: TodoList<Steps>,
  ) => readonly RowChange[]
}

interface Definition<
  Events extends DomainEvent,
  Steps extends Readonly<Record<string, StepDefinition<TObject, boolean, Deps>>>,
  Deps,
>
  extends Pick<Process<Deps>, 'name' | 'lanes'>, Pick<Projector, 'version' | 'decisive'> {
  /** Tables beside the list: what later events need of earlier ones. */
  readonly lookups?: readonly Table[]
  readonly steps: Steps
  /** What each event changes in the list and in the lookups. Pure. */
  readonly on: Reactions<Events, Steps>
}

/** Declared as a method so that the reaction to one event type is a reaction of the table without a cast. */
type Reaction<Steps extends Readonly<Record<string, ListedStep>>> = {
  react(event: RecordedEvent, todo: TodoList<Steps>): readonly RowChange[]
}['react']

/** `defineProcess<Events, Deps>()({ … })`: what is to be done after which event. Its list is the projector `<name>_todo`. */
export function defineProcess<Events extends DomainEvent, Deps>() {
  return <Steps extends Readonly<Record<string, StepDefinition<TObject, boolean, Deps>>>>(
    definition: Definition<Events, Steps, Deps>,
  ): Process<Deps> => {
    const { name, version, lookups = [], steps, on, lanes, decisive = false } = definition
    const table = lanes === undefined ? todoTable : laneTodoTable
    if (lanes === undefined && Object.values(steps).some(({ hasLane }) => hasLane))
      throw new TypeError(`process ${name} has a step with lanes, and no workers for lanes`)
    const handlers: Record<string, Handler> = {}
    for (const [type, reaction] of Object.entries<Reaction<Steps> | undefined>(on)) {
      if (reaction !== undefined) handlers[type] = (event) => reaction(event, new TodoList(event, table))
    }
    return {
      name,
      list: {
        name: `${name}_todo`,
        version,
        decisive,
        tables: [table, ...lookups],
        handlers,
      },
      steps: Object.fromEntries(Object.entries(steps).map(([step, { run }]) => [step, run])),
      ...(lanes === undefined ? {} : { lanes }),
    }
  }
}
