import { defineProjector } from '../../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow } from '../../../engine/projections/row-changes.ts'
import type {
  ConcurrencyLimits,
  Process,
  StepContext,
  StepOutcome,
  TodoRow,
} from '../../../engine/processes/process.ts'
import { keyedTodoTable, noConcurrencyKey } from '../../../engine/processes/todo-tables.ts'
import type { TicketEvent } from '../projections/tickets.ts'

/** The work of the steps of these tests, and the limits of their workers. */
export interface ErrandDeps {
  readonly limits: ConcurrencyLimits
  readonly run: (todo: TodoRow, context: StepContext) => Promise<StepOutcome>
}

/**
 * A process with concurrency keys: an errand per ticket, with its team as key. A title `at <instant>` contains its due
 * time.
 */
export const errands: Process<ErrandDeps> = {
  name: 'errands',
  list: defineProjector<TicketEvent>()({
    name: 'errand_list',
    version: 1,
    tables: [keyedTodoTable],
    handlers: {
      TicketOpened: ({ data, recordedAt, metadata }) => [
        insertRow(keyedTodoTable, {
          key: data.ticketId,
          step: 'run',
          orgId: metadata.orgId,
          dueAt: data.title.startsWith('at ') ? data.title.slice(3) : recordedAt,
          payload: {},
          lane: data.team === 'free' ? noConcurrencyKey : data.team,
        }),
      ],
      TicketRenamed: ({ data }) => [
        patchRow(keyedTodoTable, { key: data.ticketId, step: 'run', dueAt: data.title.slice(3) }),
      ],
      TicketClosed: ({ data }) => [removeRow(keyedTodoTable, { key: data.ticketId, step: 'run' })],
    },
  }),
  steps: { run: (todo, { run }, context) => run(todo, context) },
  concurrency: ({ limits }) => limits,
}
