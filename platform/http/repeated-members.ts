import { endOfString } from '../../streams/store/json-reading.ts'
import { problem, type Problem } from '../problems.ts'
import { escapePointer, withoutForeignNames } from './errors.ts'

interface Level {
  /** Of an object; undefined in an array. */
  readonly names: Set<string> | undefined
  /** The member or element that is being read. */
  place: string | number
  isNameNext: boolean
}

/**
 * @param json well-formed, and not nested too deeply
 * @throws Problem `malformed-body` where a member stands twice in its object
 */
export function requireOneMeaning(json: string): void {
  const pointer = repeatedMember(json)
  if (pointer !== undefined) throw repeatedMemberProblem(pointer)
}

export function repeatedMemberProblem(pointer: string): Problem {
  const errors = [{ pointer: withoutForeignNames(pointer), detail: 'stands twice in its object', code: 'repeated-member' }]
  return problem('malformed-body', { detail: 'A member stands twice in its object: `errors` points at it.', errors })
}

/**
 * The JSON pointer of the first member that stands twice in its object, which a parser answers with its last value and
 * others with their first (RFC 8259, 4).
 *
 * @param json well-formed, and not nested too deeply
 */
export function repeatedMember(json: string): string | undefined {
  const levels: Level[] = []
  for (let at = 0; at < json.length; at += 1) {
    const level = levels.at(-1)
    switch (json[at]) {
      case '{': levels.push({ names: new Set(), place: '', isNameNext: true }); break
      case '[': levels.push({ names: undefined, place: 0, isNameNext: false }); break
      case '}': case ']': levels.pop(); break
      case ',':
        if (typeof level?.place === 'number') level.place += 1
        else if (level !== undefined) level.isNameNext = true
        break
      case '"': {
        const end = endOfString(json, at)
        if (level?.names !== undefined && level.isNameNext) {
          const name = textOf(json.slice(at, end + 1))
          level.place = name
          level.isNameNext = false
          if (level.names.has(name)) return levels.map(({ place }) => `/${escapePointer(String(place))}`).join('')
          level.names.add(name)
        }
        at = end
        break
      }
      default:
    }
  }
  return undefined
}

function textOf(literal: string): string {
  return literal.includes('\\') ? String(JSON.parse(literal)) : literal.slice(1, -1)
}
