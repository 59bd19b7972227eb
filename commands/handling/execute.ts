import { setTimeout as sleep } from 'node:timers/promises'
import { Problem, problem } from '../../platform/http/problems.ts'
import { RevisionConflictError } from '../../streams/store/errors.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { DomainEvent, Target } from '../../streams/store/events.ts'
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
  /** Empty when the command repeated what had been done. */
  readonly events: readonly Event[]
  /** `$all` position of the last event appended; undefined when nothing was. */
  readonly position: Position | undefined
  /** The same, or for a repeat where the stream's last event stands: what holds it holds all that the answer tells. */
  readonly reached: Position | undefined
}

/** Enough for a burst on one stream, where each round lets one writer through. */
const attempts = 40
const pauseMs = 10

/**
 * Loads, decides, appends at exactly the revision that was decided on. Cached state is only trusted by way of an
 * append: every refusal, every empty result and every revision that is not the expected one is looked at again after
 * reading the stream's tail. A lost race is
 * decided again a few times, and so is a stream that was taken for new and is not.
 *
 * @param beforeAppend what another stream must say first (a claim, a mark), or which revision the caller expects to
 * change; runs once a decision stands, with the revision that it was made on, and must bear to run again
 *
 * @throws Problem the refusal's; `conflict` when the stream would not stand still
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
    let { state, revision, position } = isFresh
      ? await store.load(target)
      : target.isNew === true
        ? store.presume(target)
        : await store.loadCached(target)
    let decision = decide(state)
    if (!isFresh && (isRefusal(decision) || decision.length === 0)) {
      ;({ state, revision, position } = await store.load(target))
      decision = decide(state)
    }
    if (isRefusal(decision)) throw problem(decision.refused, decision.details)
    if (decision.length === 0) return { state, revision, events: [], position: undefined, reached: position }
    try {
      await beforeAppend?.(revision)
    } catch (error) {
      // The revision that the caller expects to change may be one that another process wrote and this one has not read.
      const isAhead = !isFresh && error instanceof Problem && error.code === 'precondition-failed'
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

/**
 * A stream's state to plan a step on whose first append checks the plan: as it is kept where that says that there is
 * something to do, else read afresh. What is kept may be older than what another instance has written; `execute` then decides
 * once more on what there is, so the decision has to be told the plan and to come to nothing where it does not hold any more.
 */
export async function loadForPlan<State, Event extends DomainEvent>(
  store: Pick<EventStore, 'load' | 'loadCached'>,
  { fold, stream }: Target<State, Event>,
  isToDo: (state: State) => boolean,
): Promise<State> {
  const { state } = await store.loadCached({ fold, stream })
  return isToDo(state) ? state : (await store.load({ fold, stream })).state
}
