import { processes } from '../../processes/registry.ts'
import { readModels } from '../../projections/registry.ts'
import type { Projector } from '../../projections/runtime/projector.ts'

/** Everything that this program projects: the read models, and the to-do lists of the processes. */
export const knownProjectors: readonly Projector[] = [
  ...readModels,
  ...processes.map((process) => process.list),
].toSorted((a, b) => (a.name < b.name ? -1 : 1))

export const knownNames: readonly string[] = knownProjectors.map(({ name }) => name)

/** One that the command line has let through. */
export function projectorNamed(name: string): Projector {
  const projector = knownProjectors.find((known) => known.name === name)
  if (projector === undefined) throw new TypeError(`no projector ${name}`)
  return projector
}
