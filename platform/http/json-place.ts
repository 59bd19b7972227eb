/** What a string is where it begins. */
export type StringRole = 'name' | 'data' | 'other'

/**
 * Follows the structure of a JSON text as far as to know the strings at `/images/<n>/data`: the root object's member
 * `images`, a list, whose element is an object, whose member `data` is the string. Told right of valid JSON only.
 */
export interface JsonPlace {
  /** Takes a byte that stands outside of strings. */
  structure(byte: number): void
  roleOfString(): StringRole
  /** Takes the name of a member; false where the same name, of those that are looked for, stood there before. */
  name(name: string): boolean
  /** Which element of the list the place is in. */
  readonly index: number
}

const rootDepth = 1
const listDepth = 2
const elementDepth = 3

const byteOf = (character: string) => character.charCodeAt(0)
const openObject = byteOf('{')
const openList = byteOf('[')
const closeObject = byteOf('}')
const closeList = byteOf(']')
const comma = byteOf(',')
const colon = byteOf(':')

export function createJsonPlace(): JsonPlace {
  let depth = 0
  /** How deep the way to the strings is followed: `depth`, unless the place is somewhere beside the way. */
  let followed = 0
  let isNameNext = false
  /** The last name on the way, as long as it says whose value comes next. */
  let member = ''
  let hasImages = false
  let hasData = false
  let index = 0

  function open(isObject: boolean): void {
    depth += 1
    const leadsOn = depth === listDepth ? !isObject && member === 'images' : isObject && depth <= elementDepth
    const isOnWay = followed === depth - 1 && leadsOn
    if (isOnWay) followed = depth
    if (isOnWay && depth === listDepth) index = 0
    if (isOnWay && depth === elementDepth) hasData = false
    isNameNext = isOnWay && isObject
    member = ''
  }

  function close(): void {
    depth = Math.max(0, depth - 1)
    followed = Math.min(followed, depth)
    isNameNext = false
    member = ''
  }

  function next(): void {
    if (depth !== followed) return
    if (depth === listDepth) index += 1
    else isNameNext = depth > 0
    member = ''
  }

  return {
    structure(byte) {
      if (byte === openObject || byte === openList) open(byte === openObject)
      else if (byte === closeObject || byte === closeList) close()
      else if (byte === comma) next()
      else if (byte === colon) isNameNext = false
    },
    roleOfString() {
      if (depth !== followed) return 'other'
      if (isNameNext) return 'name'
      return depth === elementDepth && member === 'data' ? 'data' : 'other'
    },
    name(name) {
      member = name
      isNameNext = false
      if (depth === rootDepth && name === 'images') {
        if (hasImages) return false
        hasImages = true
      }
      if (depth === elementDepth && name === 'data') {
        if (hasData) return false
        hasData = true
      }
      return true
    },
    get index() {
      return index
    },
  }
}
