import { defineProjector } from '../../../projections/runtime/projector.ts'
import { insertRow, patchRow, removeRow } from '../../../projections/runtime/row-changes.ts'
import type { LaneBudget, Process, StepContext, StepOutcome, TodoRow } from '../../../processes/runtime/process.ts'
import { freeLane, laneTodoTable } from '../../../processes/runtime/todo-tables.ts'
import type { TicketEvent } from '../../projections/runtime/tickets.ts'

/** What steps of these tests do, and on which workers. */
export interface ErrandDeps {
  readonly budget: LaneBudget
  readonly run: (todo: TodoRow, context: StepContext) => Promise<StepOutcome>
}

/** A process with lanes: an errand per ticket, in the lane of its team. A title `at <instant>` says when it is due. */
export const errands: Process<ErrandDeps> = {
  name: 'errands',
  list: defineProjector<TicketEvent>()({
    name: 'errand_list',
    version: 1,
    tables: [laneTodoTable],
    handlers: {
      TicketOpened: ({ data, recordedAt, metadata }) => [
        insertRow(laneTodoTable, {
          key: data.ticketId,
          step: 'run',
          orgId: metadata.orgId,
          dueAt: data.title.startsWith('at ') ? data.title.slice(3) : recordedAt,
          payload: {},
          lane: data.team === 'free' ? freeLane : data.team,
        }),
      ],
      TicketRenamed: ({ data }) => [
        patchRow(laneTodoTable, { key: data.ticketId, step: 'run', dueAt: data.title.slice(3) }),
      ],
      TicketClosed: ({ data }) => [removeRow(laneTodoTable, { key: data.ticketId, step: 'run' })],
    },
  }),
  steps: { run: (todo, { run }, context) => run(todo, context) },
  lanes: ({ budget }) => budget,
}
