import { readFile } from 'node:fs/promises'
import { ifPresent } from './error-codes.ts'

/** An object or list that is still open. */
interface Open {
  readonly value: Record<string, unknown> | unknown[]
  /** The name of the next value's member; undefined before a name, and in a list. */
  name: string | undefined
}

const token = /"|[^\s,:[\]{}"]+|[[\]{}]/g

/**
 * Parses like `JSON.parse`, without a bug of V8. V8 may confuse an escaped name with an earlier name that starts like
 * the escaped text (`"\u00e9"` with a `"\\"` from anywhere): https://github.com/nodejs/node/issues/63785. Texts with
 * such names are parsed here.
 * @throws SyntaxError
 */
export function readJsonText(json: string): unknown {
  const value: unknown = JSON.parse(json)
  return hasEscapedName(json) ? assemble(json) : value
}

/** Parses like `readJsonText`. Undefined if the text is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return readJsonText(text)
  } catch {
    return undefined
  }
}

/**
 * The value in a file of JSON. Undefined if there is no file. Throws if the file contains something else; the message
 * contains the remedy.
 */
export async function readJsonFile<Value>(
  file: string,
  isExpected: (value: unknown) => value is Value,
  remedy: string,
): Promise<Value | undefined> {
  const text = await ifPresent(readFile(file, 'utf8'))
  if (text === undefined) return undefined
  const value = jsonOf(text)
  if (!isExpected(value)) throw new Error(`${file} is damaged: ${remedy}`)
  return value
}

/** @param json well-formed: a backslash occurs only in strings, and the first one of a string starts an escape */
function hasEscapedName(json: string): boolean {
  for (let at = json.indexOf('\\'); at !== -1; at = json.indexOf('\\', at)) {
    while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1
    nameEnd.lastIndex = at
    if (nameEnd.test(json)) return true
  }
  return false
}

const nameEnd = /"[ \t\n\r]*:/y

/** @param json well-formed */
function assemble(json: string): unknown {
  const top: Open = { value: [], name: undefined }
  const levels: Open[] = [top]
  token.lastIndex = 0
  for (let found = token.exec(json); found !== null; found = token.exec(json)) {
    const [mark] = found
    const level = levels.at(-1) ?? top
    if (mark === '}' || mark === ']') levels.pop()
    else if (mark === '{' || mark === '[') {
      const value = mark === '{' ? {} : []
      put(level, value)
      levels.push({ value, name: undefined })
    } else if (mark === '"') {
      const end = endOfString(json, found.index)
      const text = String(JSON.parse(json.slice(found.index, end + 1)))
      token.lastIndex = end + 1
      if (level.name === undefined && !Array.isArray(level.value)) level.name = text
      else put(level, text)
    } else put(level, JSON.parse(mark))
  }
  return (top.value as unknown[])[0]
}

/** The last of two members with one name wins, at the place of the first. `__proto__` is an ordinary name. */
function put(level: Open, value: unknown): void {
  if (Array.isArray(level.value)) level.value.push(value)
  else
    Object.defineProperty(level.value, level.name ?? '', {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    })
  level.name = undefined
}

/**
 * Index of the closing quotation mark of the string that starts there: the first one after an even number of
 * backslashes.
 */
export function endOfString(json: string, from: number): number {
  for (let end = json.indexOf('"', from + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json[end - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return end
  }
  return json.length
}
