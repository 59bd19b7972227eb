import { keyedStep, Nothing, step } from '../../engine/processes/define-process.ts'
import type { TodoList } from '../../engine/processes/todo-list.ts'
import { cancel, CancelPayload } from './cancel.steps.ts'
import { deliver } from './deliver.steps.ts'
import { DeliverPayload } from './delivery-target.ts'
import { destroyOldSecrets } from './destroy-secrets.steps.ts'
import { disable, DisablePayload, watch, WatchPayload } from './endpoint.steps.ts'
import { redeliver, RedeliverPayload } from './redeliver.steps.ts'

/** The row key of `deliver`, `cancel` and `redeliver` is the delivery. For every other step it is the subscription. */
export const steps = {
  deliver: keyedStep(DeliverPayload, deliver),
  cancel: step(CancelPayload, cancel),
  redeliver: step(RedeliverPayload, redeliver),
  watch: step(WatchPayload, watch),
  disable: step(DisablePayload, disable),
  'destroy-secrets': step(Nothing, destroyOldSecrets),
}

export type WebhookTodos = TodoList<typeof steps>
