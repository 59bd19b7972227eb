import { defineProjector } from '../../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow } from '../../../engine/projections/row-changes.ts'
import type { Process, StepContext, StepOutcome, TodoRow } from '../../../engine/processes/process.ts'
import { todoTable } from '../../../engine/processes/todo-tables.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { RevisionConflictError } from '../../../engine/store/errors.ts'
import { stepCommand } from '../../../engine/processes/step-identity.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import type { TicketWorld } from '../projections/ticket-world.ts'
import { filter, renamed, silentLogger, ticketFold, type TicketEvent } from '../projections/tickets.ts'

/** The dependencies of the steps of these tests. */
export interface ReminderDeps {
  readonly store: EventStore
  /** Each run of a step, in order. */
  readonly calls: string[]
  /** Runs before the append of a step. It may throw or wait. An outcome replaces the append. */
  readonly act: (todo: TodoRow, context: StepContext, call: number) => Promise<StepOutcome | undefined>
}

/**
 * An opened ticket is renamed once. Its renaming ends the work. `payload` names the event that caused it. A title
 * `at <instant>` contains its due time.
 */
export const reminders: Process<ReminderDeps> = {
  name: 'reminders',
  list: defineProjector<TicketEvent>()({
    name: 'reminder_list',
    version: 1,
    tables: [todoTable],
    handlers: {
      TicketOpened: ({ id, data, recordedAt, metadata }) => [
        insertRow(todoTable, {
          key: data.ticketId,
          step: 'rename',
          orgId: metadata.orgId,
          dueAt: data.title.startsWith('at ') ? data.title.slice(3) : recordedAt,
          payload: { eventId: id, correlationId: metadata.$correlationId },
        }),
      ],
      TicketRenamed: ({ data }) =>
        data.title.startsWith('retry at ')
          ? [patchRow(todoTable, { key: data.ticketId, step: 'rename', dueAt: data.title.slice(9) })]
          : [removeRow(todoTable, { key: data.ticketId, step: 'rename' })],
    },
  }),
  steps: {
    async rename(todo, deps, context) {
      deps.calls.push(todo.key)
      const call = deps.calls.filter((key) => key === todo.key).length
      const early = await deps.act(todo, context, call)
      if (early !== undefined) return early
      return appendRenaming(deps.store, todo, 'renamed')
    },
  },
}

/** Starts a runner for the list alone. Resolves when the list has caught up. */
export async function startList({ store, pool }: Pick<TicketWorld, 'store' | 'pool'>): Promise<ProjectionRunner> {
  const runner = new ProjectionRunner({
    eventStore: store,
    pool,
    projectors: [reminders.list],
    filter,
    logger: silentLogger,
    heartbeatMs: 50,
  })
  runner.start()
  await runner.caughtUp()
  return runner
}

/** Appends the outcome, unless the stream contains it. */
export async function appendRenaming(store: EventStore, todo: TodoRow, title: string): Promise<StepOutcome> {
  const stream = `ticket-${todo.key}`
  const { state, revision } = await store.load({ fold: ticketFold, stream })
  if (state !== 1) return { kind: 'done' }
  const { eventId, correlationId } = todo.payload as { eventId: string; correlationId: string }
  try {
    const command = stepCommand({ process: 'reminders', name: 'reminders.rename', eventId, correlationId })
    return {
      kind: 'done',
      position: (await store.append({ fold: ticketFold, stream }, revision, [renamed(todo.key, title)], command))
        .position,
    }
  } catch (error) {
    if (error instanceof RevisionConflictError) return { kind: 'done' }
    throw error
  }
}
