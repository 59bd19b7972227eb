import type { TSchema } from 'typebox'
import { personalCategories, personalKeyword, type PersonalCategory } from '../kit/personal-content.ts'

/** The categories of personal content that a value of a schema has. */
export type PersonalReader = (value: unknown) => ReadonlySet<PersonalCategory>

type Look = (value: unknown, found: Set<PersonalCategory>) => void

/** Routes share their records, and each route is registered at several mounts. */
const readers = new WeakMap<object, PersonalReader | null>()
const none: ReadonlySet<PersonalCategory> = new Set()

/**
 * Reads which personal content a value has. A marked part that is absent, null or empty shows nothing. Undefined for a
 * schema without marked parts.
 * @throws Error for a mark at a place that is not searched
 */
export function personalReaderOf(schema: TSchema): PersonalReader | undefined {
  let reader = readers.get(schema)
  if (reader === undefined) {
    const look = lookAt(schema)
    if (marksIn(schema) !== look.marks)
      throw new Error('a schema marks personal content where the access log does not look')
    reader = look.marks === 0 ? null : readWith(look.look)
    readers.set(schema, reader)
  }
  return reader ?? undefined
}

function readWith(look: Look): PersonalReader {
  return (value) => {
    const found = new Set<PersonalCategory>()
    look(value, found)
    return found.size === 0 ? none : found
  }
}

interface Looking {
  readonly look: Look
  /** Marks that `look` reaches. */
  readonly marks: number
}

const nothing: Looking = { look: () => undefined, marks: 0 }

function lookAt(schema: unknown): Looking {
  if (!isObject(schema)) return nothing
  const category = categoryOf(schema)
  const own: Looking =
    category === undefined
      ? nothing
      : { look: (value, found) => void (isEmpty(value) || found.add(category)), marks: 1 }
  return together([own, ...membersOf(schema), elementsOf(schema), valuesOf(schema), ...variantsOf(schema)])
}

function membersOf({ properties }: Schema): readonly Looking[] {
  return Object.entries(isObject(properties) ? properties : {}).map(([name, member]) =>
    deeper(member, ({ look }) => (value, found) => {
      if (isObject(value)) look(value[name], found)
    }),
  )
}

function elementsOf({ items }: Schema): Looking {
  return deeper(items, ({ look }) => (value, found) => {
    if (Array.isArray(value)) for (const element of value) look(element, found)
  })
}

/** The values of a record of any names. */
function valuesOf({ patternProperties }: Schema): Looking {
  const all = Object.values(isObject(patternProperties) ? patternProperties : {})
  return together(
    all.map((one) =>
      deeper(one, ({ look }) => (value, found) => {
        if (isObject(value)) for (const member of Object.values(value)) look(member, found)
      }),
    ),
  )
}

function variantsOf({ anyOf, oneOf, allOf }: Schema): readonly Looking[] {
  return [anyOf, oneOf, allOf].flatMap((variants) => (Array.isArray(variants) ? variants.map(lookAt) : []))
}

function deeper(schema: unknown, into: (looking: Looking) => Look): Looking {
  const looking = lookAt(schema)
  return looking.marks === 0 ? nothing : { look: into(looking), marks: looking.marks }
}

function together(all: readonly Looking[]): Looking {
  const looking = all.filter(({ marks }) => marks > 0)
  const [first = nothing, second] = looking
  if (second === undefined) return first
  return {
    look: (value, found) => {
      for (const { look } of looking) look(value, found)
    },
    marks: looking.reduce((sum, { marks }) => sum + marks, 0),
  }
}

/** Marks anywhere in a schema. */
function marksIn(schema: unknown): number {
  if (!isObject(schema)) return 0
  const own = categoryOf(schema) === undefined ? 0 : 1
  return Object.values(schema).reduce<number>((sum, part) => sum + marksIn(part), own)
}

function categoryOf(schema: Schema): PersonalCategory | undefined {
  return personalCategories.find((category) => category === schema[personalKeyword])
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

type Schema = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null
}
