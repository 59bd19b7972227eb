import { problem } from '../problems.ts'
import { escapePointer, withoutForeignNames } from './errors.ts'

/** Far above what the interface allows (clinical_context has 16), far below what recursion could not bear. */
const deepestNesting = 64
const mostMembers = 200_000

interface Place {
  readonly value: unknown
  /** Of the member or element in the value that it is in. */
  readonly name: string
  readonly parent: Place | undefined
}

/**
 * Refuses what could not be stored and read back unchanged, or would break a reader: lone surrogates, U+0000 (Postgres),
 * `__proto__`, and nesting that recursion could not bear. Numbers are judged by their text, in `repeated-members.ts`.
 *
 * @throws Problem `malformed-body`, which points at the first such place
 */
export function requireStorable(root: unknown): void {
  let members = 0
  let level: Place[] = [{ value: root, name: '', parent: undefined }]
  for (let depth = 0; level.length > 0; depth += 1) {
    const [first] = level
    if (depth > deepestNesting && first !== undefined) throw refusal(first, 'The body is nested deeper than 64 levels.', 'is nested too deeply', 'too-deep')
    const next: Place[] = []
    for (const place of level) {
      const { value } = place
      if (typeof value === 'string') requireText(value, place)
      else if (typeof value === 'object' && value !== null) {
        if (!Array.isArray(value)) for (const name of Object.keys(value)) requireName(name, place)
        for (const [name, member] of Object.entries(value) as [string, unknown][]) next.push({ value: member, name, parent: place })
      }
    }
    members += next.length
    if (members > mostMembers) throw problem('malformed-body', { detail: 'The body has too many members.' })
    level = next
  }
}

function requireText(text: string, place: Place): void {
  if (text.isWellFormed() && !text.includes('\0')) return
  throw refusal(place, 'A text holds U+0000 or half of a surrogate pair.', 'holds U+0000 or half of a surrogate pair', 'text')
}

/** @param place of the object: the name itself is nothing to answer with */
function requireName(name: string, place: Place): void {
  requireText(name, place)
  if (name === '__proto__') throw refusal(place, 'A member has a name that is not allowed.', 'has a member of a name that is not allowed', 'name')
}

function refusal(place: Place, detail: string, rule: string, code: string) {
  return problem('malformed-body', { detail, errors: [{ pointer: withoutForeignNames(pointerTo(place)), detail: rule, code }] })
}

function pointerTo({ name, parent }: Place): string {
  return parent === undefined ? '' : `${pointerTo(parent)}/${escapePointer(name)}`
}
