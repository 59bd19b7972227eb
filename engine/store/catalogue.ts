import { Compile } from 'typebox/schema'
import { atFirstUse } from '../../platform/kit/at-first-use.ts'
import { orderingOf, type Ordering } from './member-order.ts'
import { closeObjects, phiMembersOf } from './schema-inspection.ts'
import type { EventDefinition } from './schema.ts'

/** The events of one stream category; a public channel's category is its whole stream name. */
export interface CategoryDefinition {
  readonly category: string
  readonly events: Readonly<Record<string, EventDefinition>>
}

/** An event type, prepared for the codec. */
export interface CatalogueEntry {
  readonly definition: EventDefinition
  readonly category: string
  /** Top-level members that are stored encrypted. */
  readonly phiMembers: readonly string[]
  /** Pointers and messages of schema violations; empty if the schema accepts the data. Never contains values. */
  readonly refusals: (data: unknown) => readonly { readonly pointer: string; readonly message: string }[]
  /** Returns data that the schema accepts, with its members in the order of the schema. */
  readonly ordered: Ordering
}

export interface Catalogue {
  /** Undefined for a type that no definition declares. */
  readonly entry: (type: string) => CatalogueEntry | undefined
  readonly types: readonly string[]
  readonly categories: readonly string[]
}

/** Category of a stream name: the part before the first hyphen. A channel's name is its category. */
export function categoryOf(stream: string): string {
  const hyphen = stream.indexOf('-')
  return hyphen === -1 ? stream : stream.slice(0, hyphen)
}

/** Checks all definitions at once. Throws on the first one that contradicts itself or another. */
export function createCatalogue(definitions: readonly CategoryDefinition[]): Catalogue {
  const entries = new Map<string, CatalogueEntry>()
  for (const { category, events } of definitions) {
    if (category.includes('-')) throw new Error(`category ${category} holds a hyphen`)
    for (const definition of Object.values(events)) {
      const doubled = entries.get(definition.type)
      if (doubled !== undefined) {
        throw new Error(`event type ${definition.type} is declared by ${doubled.category} and by ${category}`)
      }
      entries.set(definition.type, entryOf(category, definition))
    }
  }
  const categories = [...new Set(definitions.map((each) => each.category))]
  return { entry: (type) => entries.get(type), types: [...entries.keys()], categories }
}

function entryOf(category: string, definition: EventDefinition): CatalogueEntry {
  const phiMembers = checkedPhiMembers(category, definition)
  checkUpcasters(definition)
  // Compiled at its first use: a process uses a part of the types, and all of them take a tenth of its start.
  const schema = atFirstUse(() => compiledSchema(definition))
  return {
    definition,
    category,
    phiMembers,
    refusals: (data) => {
      const { validator } = schema()
      if (validator.Check(data)) return []
      return validator.Errors(data)[1].map((error) => ({ pointer: error.instancePath, message: error.message }))
    },
    ordered: (data) => schema().order(data),
  }
}

function compiledSchema({ schema }: EventDefinition) {
  const closed = closeObjects(schema)
  return { validator: Compile(closed), order: orderingOf(closed) }
}

function checkedPhiMembers(category: string, definition: EventDefinition): readonly string[] {
  const { type, schema, subject } = definition
  const phiMembers = phiMembersOf(type, schema)
  if (phiMembers.length === 0) return phiMembers
  if (category.includes('.')) throw new Error(`${type} of channel ${category} declares PHI: channels carry none`)
  if (subject === undefined) throw new Error(`${type} declares PHI (${phiMembers.join(', ')}) but no subject`)
  if (phiMembers.includes(subject)) throw new Error(`${type}: the subject ${subject} cannot itself be PHI`)
  return phiMembers
}

function checkUpcasters({ type, version, upcasters }: EventDefinition): void {
  if (!Number.isSafeInteger(version) || version < 1) throw new Error(`${type} has version ${version}, not one from 1`)
  for (let from = 1; from < version; from += 1) {
    if (upcasters?.[from] === undefined) throw new Error(`${type} has no upcaster from version ${from}`)
  }
}
