import { execute, type CommandTarget, type Executed } from '../commands/execute.ts'
import type { AnsweredDecision } from '../commands/refusals.ts'
import type { EventStore } from '../store/event-store.ts'
import type { DomainEvent } from '../store/events.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type { Todo } from './define-process.ts'
import type { StepContext, StepOutcome } from './process.ts'
import { outcomeCommand } from './step-identity.ts'

/** The members of the event that opens an attempt. */
export interface Opening {
  readonly attemptId: string
  readonly now: Date
  readonly leaseUntil: Date
  readonly endedLeases: readonly string[]
}

/** An attempt whose call has ended. */
interface Attempt<State, Event extends DomainEvent> {
  readonly id: string
  readonly durationMs: number
  /** Appends the outcome. `position` is that of the last append of the attempt. */
  readonly record: (decide: (state: State) => AnsweredDecision<Event>) => Promise<Executed<State, Event>>
  /**
   * Appends the outcome and the opening of the next attempt together (`next.open` decides both), and makes the next call.
   * Undefined if it appended nothing.
   */
  readonly recordAndCall: <Open extends State, Answer>(
    next: OutsideCall<State, Open, Event, Answer>,
  ) => Promise<StepOutcome | undefined>
}

export interface OutsideCall<State, Open extends State, Event extends DomainEvent, Answer> {
  /** The event that opens the attempt. None if the state needs no call, or if another attempt is open. */
  readonly open: (opening: Opening, state: State) => AnsweredDecision<Event>
  /** Whether the state after this event needs the call. The event may have ended the work without one. */
  readonly isOpen: (state: State) => state is Open
  /** The end of another attempt's lease, or the time of the next attempt. Null if no attempt follows. */
  readonly waitsUntil: (state: State, now: Date, endedLeases: readonly string[]) => Date | null
  readonly call: (signal: AbortSignal, state: Open) => Promise<Answer>
  /** The answer of a call that a stop cuts off is an outcome, too. */
  readonly countsWhenStopped?: boolean
  /** Records the meaning of the answer. `state` is that of the call. */
  readonly conclude: (answer: Answer, state: Open, attempt: Attempt<State, Event>) => Promise<StepOutcome>
}

/**
 * Every call outside that changes something there goes this way: open the attempt, call, record. The append that opens
 * the attempt is the fence: of several workers one appends, and only this one calls. It also records the end of the
 * lease, until which others wait. After a crash between the call and its record, the next worker finds the attempt
 * open. A step whose time is half over opens none.
 */
export async function outsideCall<State, Open extends State, Event extends DomainEvent, Answer>(
  given: Given,
  target: CommandTarget<State, Event>,
  declared: OutsideCall<State, Open, Event, Answer>,
): Promise<StepOutcome> {
  requireTime(given.step)
  const { state, outcome } = await attempted(given, target, declared, given.todo.attempt())
  return outcome ?? waiting(declared.waitsUntil(state, given.step.now(), given.step.endedLeases))
}

interface Given {
  readonly todo: Todo
  readonly step: StepContext
  readonly store: EventStore
}

/** Without an outcome, the attempt appended nothing. */
async function attempted<State, Open extends State, Event extends DomainEvent, Answer>(
  given: Given,
  target: CommandTarget<State, Event>,
  declared: OutsideCall<State, Open, Event, Answer>,
  command: CommandContext,
): Promise<{ readonly state: State; readonly outcome?: StepOutcome }> {
  const { todo, step, store } = given
  const { open, isOpen, call, countsWhenStopped = false, conclude } = declared
  const { leaseUntil, endedLeases } = step
  const opening = { attemptId: command.commandId, now: step.now(), leaseUntil: new Date(leaseUntil), endedLeases }
  const { state, events, position } = await execute(store, target, (current) => open(opening, current), command)
  if (events.length === 0) return { state }
  if (!isOpen(state)) return { state, outcome: { kind: 'done', position } }
  const beganMs = performance.now()
  const answer = countsWhenStopped
    ? await call(step.signal, state)
    : await callOutside(step, (signal) => call(signal, state))
  const outcome = await conclude(answer, state, {
    id: command.commandId,
    durationMs: Math.round(performance.now() - beganMs),
    async record(decide) {
      const recorded = await execute(store, target, decide, outcomeCommand(command))
      return { ...recorded, position: recorded.position ?? position }
    },
    async recordAndCall(next) {
      const following = { ...todo.attempt(), causationId: command.commandId }
      return (await attempted(given, target, next, following)).outcome
    },
  })
  return { state, outcome }
}

/** @throws TooLateForCallError so that the next run, which has the whole time again, comes after a pause that grows */
export function requireTime({ hasTime }: Pick<StepContext, 'hasTime'>): void {
  if (!hasTime()) throw new TooLateForCallError()
}

class TooLateForCallError extends Error {
  override readonly name = 'TooLateForCallError'
}

/** The outcome of a step that appended nothing: it waits for another attempt, or there is nothing to do. */
export function waiting(until: Date | null): StepOutcome {
  return until === null ? { kind: 'done' } : { kind: 'wait', until }
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
    const { reason } = signal
    if (!(reason instanceof DOMException && reason.name === 'TimeoutError')) signal.throwIfAborted()
  }
}

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
