import { defineProjector, insert, patch, remove } from '../../../projections/runtime/projector.ts'
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
        insert(laneTodoTable, {
          key: data.ticketId,
          step: 'run',
          org_id: metadata.orgId,
          due_at: data.title.startsWith('at ') ? data.title.slice(3) : recordedAt,
          payload: {},
          lane: data.team === 'free' ? freeLane : data.team,
        }),
      ],
      TicketRenamed: ({ data }) => [
        patch(laneTodoTable, { key: data.ticketId, step: 'run' }, { due_at: data.title.slice(3) }),
      ],
      TicketClosed: ({ data }) => [remove(laneTodoTable, { key: data.ticketId, step: 'run' })],
    },
  }),
  steps: { run: (todo, { run }, context) => run(todo, context) },
  lanes: ({ budget }) => budget,
}
