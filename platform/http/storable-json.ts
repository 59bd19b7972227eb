import { problem } from './problems.ts'
import { escapePointer, withoutForeignNames } from './errors.ts'

/** Far more than the interface allows (clinical_context has 16), and far less than recursion can handle. */
const deepestNesting = 64

/** A place that cannot be stored, with the names on its path, innermost first. */
interface Fault {
  readonly detail: string
  readonly rule: string
  readonly code: string
  readonly names: (string | number)[]
}

/**
 * Refuses values that cannot be stored and read back unchanged, or that would break a reader: lone surrogates, U+0000
 * (Postgres), `__proto__`, and nesting too deep for recursion. `repeated-members.ts` checks numbers by their text.
 * @throws Problem `malformed-body`, with a pointer to the first such place
 */
export function requireStorable(root: unknown): void {
  const fault = faultIn(root, 0)
  if (fault === undefined) return
  const pointer = fault.names
    .toReversed()
    .map((name) => `/${escapePointer(String(name))}`)
    .join('')
  throw problem('malformed-body', {
    detail: fault.detail,
    errors: [{ pointer: withoutForeignNames(pointer), detail: fault.rule, code: fault.code }],
  })
}

/** Allocates nothing for a valid value: this runs for every member of every body. */
function faultIn(value: unknown, depth: number): Fault | undefined {
  if (typeof value === 'string') return isText(value) ? undefined : textFault()
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > deepestNesting)
    return {
      detail: 'The body is nested deeper than 64 levels.',
      rule: 'is nested too deeply',
      code: 'too-deep',
      names: [],
    }
  const members = Array.isArray(value) ? undefined : Object.entries(value)
  const elements: readonly unknown[] = Array.isArray(value) ? value : []
  for (let at = 0; at < elements.length; at += 1) {
    const fault = faultIn(elements[at], depth + 1)
    if (fault !== undefined) return within(at, fault)
  }
  for (const [name, member] of members ?? []) {
    // Reports the object as the faulty place, because the name itself cannot be part of an answer.
    if (!isText(name)) return textFault()
    if (name === '__proto__')
      return {
        detail: 'A member has a name that is not allowed.',
        rule: 'has a member of a name that is not allowed',
        code: 'name',
        names: [],
      }
    const fault = faultIn(member, depth + 1)
    if (fault !== undefined) return within(name, fault)
  }
  return undefined
}

function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

function textFault(): Fault {
  return {
    detail: 'A text contains U+0000 or half of a surrogate pair.',
    rule: 'contains U+0000 or half of a surrogate pair',
    code: 'text',
    names: [],
  }
}

function within(name: string | number, fault: Fault): Fault {
  fault.names.push(name)
  return fault
}
