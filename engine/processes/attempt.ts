import { execute, type CommandTarget, type Executed } from '../commands/execute.ts'
import type { AnsweredDecision } from '../commands/refusals.ts'
import type { EventStore } from '../store/event-store.ts'
import type { DomainEvent } from '../store/events.ts'
import type { Todo } from './define-process.ts'
import type { StepContext } from './process.ts'
import { outcomeCommand } from './step-identity.ts'

/** The members of the event that opens an attempt. */
interface Opening {
  readonly attemptId: string
  readonly now: Date
  readonly leaseUntil: Date
  readonly endedLeases: readonly string[]
}

export interface Attempt<State, Event extends DomainEvent> {
  readonly id: string
  /** False: nothing was appended. Another worker has an open attempt, or the stream needs no call. Make no call. */
  readonly isOpen: boolean
  /** The state after the append. Another instance may have changed it since the call was planned. */
  readonly state: State
  call<Answer>(call: (signal: AbortSignal) => Promise<Answer>): Promise<Answer>
  /** Appends the outcome. `position` is that of the last append of the attempt. */
  record(decide: (state: State) => AnsweredDecision<Event>): Promise<Executed<State, Event>>
}

/**
 * Every call outside that changes something there goes this way: open the attempt, call, record. The append that opens
 * the attempt is the fence: of several workers one appends, and only this one calls. It also records the end of the
 * lease, until which others wait. After a crash between the call and its record, the next worker finds the attempt
 * open.
 */
export async function openAttempt<State, Event extends DomainEvent>(
  { todo, step, store }: { readonly todo: Todo; readonly step: StepContext; readonly store: EventStore },
  target: CommandTarget<State, Event>,
  decide: (opening: Opening, state: State) => AnsweredDecision<Event>,
): Promise<Attempt<State, Event>> {
  const command = todo.attempt()
  const { leaseUntil, endedLeases } = step
  const opening = { attemptId: command.commandId, now: step.now(), leaseUntil: new Date(leaseUntil), endedLeases }
  const opened = await execute(store, target, (state) => decide(opening, state), command)
  return {
    id: command.commandId,
    isOpen: opened.events.length > 0,
    state: opened.state,
    call: (call) => callOutside(step, call),
    async record(outcome) {
      const recorded = await execute(store, target, outcome, outcomeCommand(command))
      return { ...recorded, position: recorded.position ?? opened.position }
    },
  }
}

/**
 * A call within the time limit of the step. It throws if the worker stops meanwhile, so that the step records no
 * outcome: a call that a stop cuts off is not a try. A call that took too long returns, because a time-out is an
 * outcome.
 */
export async function callOutside<Answer>(
  { signal }: Pick<StepContext, 'signal'>,
  call: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await call(signal)
  } finally {
    if (isCutOff(signal)) signal.throwIfAborted()
  }
}

/** True if the worker stops. False if only the time limit of the step has passed. */
export function isCutOff({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof DOMException && reason.name === 'TimeoutError')
}
