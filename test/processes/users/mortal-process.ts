import { ledgerPrefix } from '../../../contracts/clinical/erasure-ledger.ts'
import type { UserDependencies } from '../../../commands/users/registration-attempt.ts'
import { observed, streamOfCall } from '../../engine/commands/decision-world.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { memberOf } from '../../../platform/outbound/outside-answers.ts'

export class KilledError extends Error {
  override readonly name = 'KilledError'
}

/** What a process does outside of itself, in its order: appends by their events, and calls by their names. */
export interface Mortal<Deps> {
  readonly deps: Deps
  readonly done: readonly string[]
  /** What it was about to do when it was killed. */
  killedBefore(): string | undefined
}

const ofVault: Readonly<Record<string, string>> = { eraseSubject: 'key destroyed', rewriteFiles: 'vault rewritten' }

/**
 * The dependencies of a process that is killed before one of its effects. Afterwards nothing that it asks for happens, and
 * nothing answers: its own clean-up does not run.
 */
export function mortal<Deps extends UserDependencies & Partial<Pick<ProcessDependencies, 'objects'>>>(
  deps: Deps,
  effects: number,
): Mortal<Deps> {
  const done: string[] = []
  let last: string | undefined

  function live(): void {
    if (last !== undefined) throw new KilledError()
  }
  function act(name: string): void {
    live()
    if (done.length === effects) {
      last = name
      throw new KilledError()
    }
    done.push(name)
  }

  const { store, identityProvider, vault, objects } = deps
  return {
    done,
    killedBefore: () => last,
    deps: {
      ...deps,
      store: observed(store, (name, parameters) => {
        if (name === 'append') act(nameOfAppend(parameters))
        else live()
      }),
      vault: observed(vault, (name) => {
        const effect = ofVault[name]
        return effect === undefined ? live() : act(effect)
      }),
      ...(objects && {
        objects: observed(objects, (name, [key]) =>
          name === 'put' && String(key).startsWith(ledgerPrefix) ? act('ledger written') : live(),
        ),
      }),
      identityProvider: observed(identityProvider, (name) => (name === 'get' ? live() : act(`account: ${name}`))),
    },
  }
}

function nameOfAppend(parameters: readonly unknown[]): string {
  const category = streamOfCall(parameters).split('-', 1)[0]
  const events = Array.isArray(parameters[2]) ? parameters[2] : []
  return `${category}: ${events.map((event: unknown) => String(memberOf(event, 'type'))).join(', ')}`
}
