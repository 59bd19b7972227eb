import { execute, type CommandTarget } from '../commands/execute.ts'
import type { AnsweredDecision } from '../commands/refusals.ts'
import type { EventStore } from '../store/event-store.ts'
import type { DomainEvent } from '../store/events.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type { StepOutcome } from './process.ts'

/** The end of a step that only appends: without an event of the decision there was nothing to do. */
export async function appends<State, Event extends DomainEvent>(
  store: EventStore,
  target: CommandTarget<State, Event>,
  decide: (state: State) => AnsweredDecision<Event>,
  context: CommandContext,
): Promise<StepOutcome> {
  const { position } = await execute(store, target, decide, context)
  return { kind: 'done', position }
}
