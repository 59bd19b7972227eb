import { keyedStep } from '../../engine/processes/define-process.ts'
import type { TodoList } from '../../engine/processes/todo-list.ts'
import { create, CreatePayload } from './create.steps.ts'
import { deliver, DeliverPayload } from './deliver.steps.ts'

/**
 * `create` has a row for each rule and event, with the type of the recipient as its concurrency key. `deliver` has a
 * row for each notification, with the channel as its concurrency key. So a mail server that is away does not delay chat
 * messages.
 */
export const steps = {
  create: keyedStep(CreatePayload, create),
  deliver: keyedStep(DeliverPayload, deliver),
}

export type NotificationTodos = TodoList<typeof steps>
