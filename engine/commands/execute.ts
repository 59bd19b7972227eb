import { setTimeout as sleep } from 'node:timers/promises'
import { Problem, problem } from '../../platform/http/problems.ts'
import { RevisionConflictError } from '../store/errors.ts'
import type { EventStore } from '../store/event-store.ts'
import type { DomainEvent, Target } from '../store/events.ts'
import type { StreamRevision, Position } from '../../platform/kit/positions.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { isRefusal } from './decision.ts'
import type { AnsweredDecision } from './refusals.ts'

/** The stream a command decides on. */
export interface CommandTarget<State, Event extends DomainEvent> extends Target<State, Event> {
  /** The command creates the stream, unless it is a repeat. The first try then reads nothing. */
  readonly isNew?: boolean
}

export interface Executed<State, Event extends DomainEvent> {
  readonly state: State
  readonly revision: StreamRevision
  /** Empty if the command was a repeat. */
  readonly events: readonly Event[]
  /** `$all` position of the last appended event. Undefined without events. */
  readonly position: Position | undefined
  /**
   * The same, or for a repeat the position of the stream's last event. A read model at this position contains the
   * answer.
   */
  readonly reached: Position | undefined
}

/** The state of a record that exists. */
export type Existing<State> = Exclude<State, { readonly status: 'absent' | 'free' }>

/** For a state after a decision that creates the record, or refuses without one. */
export function existing<State extends object>(state: State): Existing<State> {
  if (!exists(state)) throw problem('internal-error')
  return state
}

export function exists<State extends object>(state: State): state is Existing<State> {
  return !('status' in state) || (state.status !== 'absent' && state.status !== 'free')
}

/** Enough for a burst on one stream. In each round one writer succeeds. */
const attempts = 40
const pauseMs = 10

/**
 * Loads the state, decides, and appends at exactly the revision of that state. Cached state may be old, and only an
 * append proves that it is current. So a decision from cached state is made again on freshly read state if it appends
 * nothing, if it throws a problem, or if the caller expects another revision. A decision from freshly read state is
 * final: an unknown id costs one read, like a known id. After a lost race it reads and decides again, a limited number
 * of times. It does the same if a stream that should be new exists.
 *
 * @param beforeAppend appends that another stream needs first (a claim, a mark), or the check of the expected revision.
 * Runs after a decision with events, with the revision of its state. It may run more than once
 *
 * @throws Problem the refusal's; `conflict` if every attempt lost its race
 */
export async function execute<State, Event extends DomainEvent>(
  store: EventStore,
  target: CommandTarget<State, Event>,
  decide: (state: State) => AnsweredDecision<Event>,
  context: CommandContext,
  beforeAppend?: (revision: StreamRevision) => Promise<void> | void,
): Promise<Executed<State, Event>> {
  let isFresh = false
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const known = isFresh ? undefined : target.isNew === true ? store.presume(target) : store.cached(target)
    const early = known === undefined ? undefined : eventsOf(() => decide(known.state))
    const { state, revision, position } = known !== undefined && early !== undefined ? known : await store.load(target)
    const decision = early ?? decide(state)
    if (isRefusal(decision)) throw problem(decision.refused, decision.details)
    if (decision.length === 0) return { state, revision, events: [], position: undefined, reached: position }
    try {
      await beforeAppend?.(revision)
    } catch (error) {
      // The caller may expect a revision that another process wrote and this process has not read yet.
      const isAhead = known !== undefined && error instanceof Problem && error.code === 'precondition-failed'
      if (!isAhead) throw error
      isFresh = true
      continue
    }
    try {
      const appended = await store.append(target, revision, decision, context)
      return {
        state: decision.reduce(target.fold.evolve, state),
        revision: appended.revision,
        events: decision,
        position: appended.position,
        reached: appended.position,
      }
    } catch (error) {
      if (!(error instanceof RevisionConflictError)) throw error
      isFresh = true
      await sleep(Math.random() * pauseMs * Math.min(attempt, 10))
    }
  }
  throw problem('conflict')
}

/** The events of a decision. Undefined if it has none, for whatever reason: newer state may have another one. */
function eventsOf<Event extends DomainEvent>(decide: () => AnsweredDecision<Event>): readonly Event[] | undefined {
  try {
    const decision = decide()
    return isRefusal(decision) || decision.length === 0 ? undefined : decision
  } catch (error) {
    if (error instanceof Problem) return undefined
    throw error
  }
}

/**
 * Returns the cached state if `suffices` accepts it, else the newest state. Cached state may lack events of other
 * instances. It is safe in two cases. Facts that never change are the same in both. A step may plan by it, because the
 * first append of the step decides on the newest state, and appends nothing if the plan is stale.
 */
export async function loadSufficient<State, Event extends DomainEvent>(
  store: Pick<EventStore, 'load' | 'presume'>,
  { fold, stream }: Target<State, Event>,
  suffices: (state: State) => boolean,
): Promise<State> {
  const { state } = store.presume({ fold, stream })
  return suffices(state) ? state : (await store.load({ fold, stream })).state
}

/** The state of an aggregate once it exists, for facts that never change afterwards. It may be absent. */
export function loadExisting<State extends { readonly status: string }, Event extends DomainEvent>(
  store: Pick<EventStore, 'load' | 'presume'>,
  target: Target<State, Event>,
): Promise<State> {
  return loadSufficient(store, target, ({ status }) => status !== 'absent')
}
