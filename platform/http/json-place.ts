/** The role of a string at its start. */
export type StringRole = 'name' | 'data' | 'other'

/**
 * Follows the structure of a JSON text to find the strings at `/images/<n>/data`. That is: the root object's member
 * `images`, a list; its element, an object; its member `data`, a string. Correct for valid JSON only.
 */
export interface JsonPlace {
  /** Takes a byte outside strings. */
  structure(byte: number): void
  roleOfString(): StringRole
  /** Takes the name of a member. False if this wanted name is a repeat in its object. */
  name(name: string): boolean
  /** Index of the current list element. */
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
  /**
   * Depth up to which the current path matches the path to the strings. Equal to `depth` while the place is on that
   * path.
   */
  let followed = 0
  let isNameNext = false
  /** The last name on the path, until its value is over. */
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
