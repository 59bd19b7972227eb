import { expect } from 'vitest'
import { isRefusal, type Decision } from '../../engine/commands/decision.ts'
import { catalogue } from '../../streams/catalogue.ts'
import type { DomainEvent, Fold } from '../../engine/store/events.ts'

type Decide<State, Event extends DomainEvent, Command, Name extends string> = (
  command: Command,
  state: State,
) => Decision<Event, Name>

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
    when<Command, Name extends string = never>(decide: Decide<State, Event, Command, Name>, command: Command) {
      const decision = decide(command, state)
      return {
        /**
         * Exactly these events, which the catalogue accepts. The same command again makes none, or those of `again`.
         */
        thenEvents(expected: readonly Event[], again: readonly Event[] | Name = []): State {
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
        thenRefused(name: Name): void {
          expect(read(decision)).toBe(name)
        },
      }
    },
  }
}

function read<Event extends DomainEvent, Name extends string>(
  decision: Decision<Event, Name>,
): readonly Event[] | Name {
  return isRefusal(decision) ? decision.refused : decision
}
