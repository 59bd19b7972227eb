import { keyedStep } from '../../engine/processes/define-process.ts'
import type { TodoList } from '../../engine/processes/todo-list.ts'
import { create, CreatePayload } from './create.steps.ts'
import { deliver, DeliverPayload } from './deliver.steps.ts'

/**
 * `create` has a row for each rule and event, with the type of the recipient as its concurrency key. The key of
 * `deliver` is the notification, and its concurrency key the channel: a mail server that is away holds up no chat.
 */
export const steps = {
  create: keyedStep(CreatePayload, create),
  deliver: keyedStep(DeliverPayload, deliver),
}

export type NotificationTodos = TodoList<typeof steps>
