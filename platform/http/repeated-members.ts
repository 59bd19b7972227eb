import { endOfString } from '../kit/json-reading.ts'
import { problem, type Problem } from './problems.ts'
import { escapePointer, withoutForeignNames } from './errors.ts'
import { endOfNumber, isExact, isSurelyExact } from './exact-numbers.ts'

const codeOf = (character: string) => character.charCodeAt(0)
const [openObject, closeObject, openList, closeList] = [codeOf('{'), codeOf('}'), codeOf('['), codeOf(']')]
const [quotationMark, comma, minus, zero, nine] = [codeOf('"'), codeOf(','), codeOf('-'), codeOf('0'), codeOf('9')]

/** The most that fit into `clinical_context`, at three characters each with an exponent. */
const mostLongNumbers = 16_384

interface Level {
  /** Member names of an object; undefined in an array. */
  readonly names: Set<string> | undefined
  /** The current member or element. */
  place: string | number
  isNameNext: boolean
}

interface Fault {
  readonly pointer: string
  readonly code: 'repeated-member' | 'number'
}

/**
 * @param json well-formed, and not nested too deeply
 * @throws Problem `malformed-body` for a repeated member of an object, or a number that cannot be stored without loss
 */
export function requireOneMeaning(json: string): void {
  const fault = ambiguousPlace(json)
  if (fault?.code === 'repeated-member') throw repeatedMemberProblem(fault.pointer)
  if (fault !== undefined) throw inexactNumberProblem(fault.pointer)
}

export function repeatedMemberProblem(pointer: string): Problem {
  const errors = [
    { pointer: withoutForeignNames(pointer), detail: 'occurs twice in its object', code: 'repeated-member' },
  ]
  return problem('malformed-body', { detail: 'A member occurs twice in its object: `errors` points at it.', errors })
}

function inexactNumberProblem(pointer: string): Problem {
  const detail =
    'cannot be stored without loss: send whole numbers beyond 2^53 and longer decimals as text, and 0 instead of -0'
  return problem('malformed-body', {
    detail: 'A number cannot be stored without loss: `errors` points at it.',
    errors: [{ pointer: withoutForeignNames(pointer), detail, code: 'number' }],
  })
}

/**
 * The JSON pointer of the first ambiguous place. Parsers keep either the first or the last of two members with one name
 * (RFC 8259, 4). They round numbers that a double cannot hold (RFC 8259, 6).
 * @param json well-formed, and not nested too deeply
 * @throws Problem `malformed-body` if the body has more long numbers than the check can read quickly
 */
export function ambiguousPlace(json: string): Fault | undefined {
  const levels: Level[] = []
  let longNumbers = 0
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === minus || (code >= zero && code <= nine)) {
      const end = endOfNumber(json, at)
      if (!isSurelyExact(json, at, end)) {
        longNumbers += 1
        if (longNumbers > mostLongNumbers)
          throw problem('malformed-body', {
            detail: `The body has more than ${mostLongNumbers} numbers with an exponent or more than 15 characters.`,
          })
        if (!isExact(json.slice(at, end))) return { pointer: pointerTo(levels), code: 'number' }
      }
      at = end - 1
      continue
    }
    const level = levels.at(-1)
    switch (code) {
      case openObject:
        levels.push({ names: new Set(), place: '', isNameNext: true })
        break
      case openList:
        levels.push({ names: undefined, place: 0, isNameNext: false })
        break
      case closeObject:
      case closeList:
        levels.pop()
        break
      case comma:
        if (typeof level?.place === 'number') level.place += 1
        else if (level !== undefined) level.isNameNext = true
        break
      case quotationMark: {
        const end = endOfString(json, at)
        if (level?.names !== undefined && level.isNameNext) {
          const name = textOf(json.slice(at, end + 1))
          level.place = name
          level.isNameNext = false
          if (level.names.has(name)) return { pointer: pointerTo(levels), code: 'repeated-member' }
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

function pointerTo(levels: readonly Level[]): string {
  return levels.map(({ place }) => `/${escapePointer(String(place))}`).join('')
}

function textOf(literal: string): string {
  return literal.includes('\\') ? String(JSON.parse(literal)) : literal.slice(1, -1)
}
