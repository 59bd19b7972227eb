import { expect } from 'vitest'
import { isRefusal, type Decision } from '../../commands/handling/decision.ts'
import type { ProblemCode } from '../../platform/http/problems.ts'
import { catalogue } from '../../streams/catalogue.ts'
import type { DomainEvent, Fold } from '../../streams/store/events.ts'

type Decide<State, Event extends DomainEvent, Command> = (command: Command, state: State) => Decision<Event>

/**
 * `given(fold, ...events).when(decide, command).thenEvents([...])`. Each command is also decided again in the resulting
 * state, where nothing more may happen. So every test of a decision also tests its repeat.
 */
export function given<State, Event extends DomainEvent>(
  fold: Fold<State, Event>,
  ...events: readonly NoInfer<Event>[]
) {
  const state = events.reduce(fold.evolve, fold.initialState)
  return {
    state,
    when<Command>(decide: Decide<State, Event, Command>, command: Command) {
      const decision = decide(command, state)
      return {
        /**
         * Expects exactly these events, which the catalogue must accept. The same command again returns no events, or
         * `again`.
         */
        thenEvents(expected: readonly Event[], again: readonly Event[] | ProblemCode = []): State {
          expect(decision).toEqual(expected)
          for (const event of expected) expect(catalogue.entry(event.type)?.refusals(event.data)).toEqual([])
          const after = expected.reduce(fold.evolve, state)
          expect(read(decide(command, after))).toEqual(again)
          return after
        },
        /** The command has no effect, and the state stays the same. */
        thenNothing(): void {
          expect(decision).toEqual([])
        },
        thenRefused(code: ProblemCode): void {
          expect(read(decision)).toBe(code)
        },
      }
    },
  }
}

function read<Event extends DomainEvent>(decision: Decision<Event>): readonly Event[] | ProblemCode {
  return isRefusal(decision) ? decision.refused : decision
}
