import { defineProjector } from '../../../engine/projections/projector.ts'
import { insertRow } from '../../../engine/projections/row-changes.ts'
import type { Process, TodoRow } from '../../../engine/processes/process.ts'
import { todoTable } from '../../../engine/processes/todo-tables.ts'
import type { TicketEvent } from '../projections/tickets.ts'

/** `onStep` receives the row of each step. The step appends nothing. */
export interface FarewellDeps {
  readonly onStep: (todo: TodoRow) => void
}

/**
 * Another process beside `reminders`, with its own list: one step for each closed ticket, put off for an hour each
 * time.
 */
export const farewells: Process<FarewellDeps> = {
  name: 'farewells',
  list: defineProjector<TicketEvent>()({
    name: 'farewell_list',
    version: 1,
    tables: [todoTable],
    handlers: {
      TicketClosed: ({ data, recordedAt, metadata }) => [
        insertRow(todoTable, {
          key: data.ticketId,
          step: 'say',
          orgId: metadata.orgId,
          dueAt: recordedAt,
          payload: {},
        }),
      ],
    },
  }),
  steps: {
    async say(todo, deps) {
      deps.onStep(todo)
      return { kind: 'retry', after: 3_600_000, reason: 'every hour' }
    },
  },
}
