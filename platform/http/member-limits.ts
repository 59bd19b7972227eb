import { endOfString, jsonOf } from '../kit/json-reading.ts'
import { escapePointer, withoutForeignNames } from './errors.ts'
import { problem } from './problems.ts'

/**
 * Each member may have a name or an order of its own, which costs the parser and each later check a few microseconds.
 * A free-form member of 64 KiB has fewer, unless almost all names are single letters.
 */
export const mostMembers = 10_000
/** Members and items together. `clinical_context` has room for 32,768 items. */
export const mostValues = 50_000

const codeOf = (character: string) => character.charCodeAt(0)
const [openObject, closeObject, openList, closeList] = [codeOf('{'), codeOf('}'), codeOf('['), codeOf(']')]
const [quotationMark, colon, comma, blank] = [codeOf('"'), codeOf(':'), codeOf(','), codeOf(' ')]

/**
 * Refuses a body with so many members or items that it would hold the event loop. It comes before the parser, which is
 * the largest part of that time.
 * @param json any text. If it is not well-formed, the parser refuses what passes here
 * @throws Problem `malformed-body`, with a pointer to the member of the body in which the limit is exceeded
 */
export function requireFewMembers(json: string): void {
  let members = 0
  let values = 0
  let depth = 0
  let isOpened = false
  /** The last string of the outermost object. Before a colon it is the name of a member. */
  let last = { from: 0, to: 0 }
  let place = last
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code <= blank) continue
    const isClosing = code === closeObject || code === closeList
    // The first member or item follows a bracket, each other one a comma.
    if (code === comma || (isOpened && !isClosing)) values += 1
    isOpened = code === openObject || code === openList
    switch (code) {
      case quotationMark: {
        const end = endOfString(json, at)
        if (depth === 1) last = { from: at, to: end + 1 }
        at = end
        break
      }
      case openObject:
      case openList:
        depth += 1
        break
      case closeObject:
      case closeList:
        depth -= 1
        break
      case colon:
        members += 1
        if (depth === 1) place = last
        break
      default:
    }
    if (members > mostMembers) throw refusal(json.slice(place.from, place.to), 'members', mostMembers)
    if (values > mostValues) throw refusal(json.slice(place.from, place.to), 'members and items', mostValues)
  }
}

/** @param name a JSON string; empty for a body that is a list */
function refusal(name: string, counted: string, most: number) {
  const text = jsonOf(name)
  const pointer = typeof text === 'string' ? withoutForeignNames(`/${escapePointer(text)}`) : ''
  return problem('malformed-body', {
    detail: `The body has more than ${most} ${counted}: \`errors\` points at the place of the first one beyond the limit.`,
    errors: [{ pointer, detail: `exceeds the limit of ${most} ${counted} in a body`, code: 'too-many-members' }],
  })
}
