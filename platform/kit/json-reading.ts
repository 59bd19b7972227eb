/** An object or list that is not over yet. */
interface Open {
  readonly value: Record<string, unknown> | unknown[]
  /** Of the member whose value comes next; undefined where a name comes next, and in a list. */
  name: string | undefined
}

const token = /"|[^\s,:[\]{}"]+|[[\]{}]/g

/**
 * What `JSON.parse` reads. V8 may take a name that is written with an escape for one that it has read before and that begins
 * as that is written (`"\u00e9"` for a `"\\"` of anybody's): https://github.com/nodejs/node/issues/63785. Texts with such
 * a name are therefore put together here.
 *
 * @throws SyntaxError
 */
export function readJsonText(json: string): unknown {
  const value: unknown = JSON.parse(json)
  return hasEscapedName(json) ? assemble(json) : value
}

/** @param json well-formed, so that a backslash stands in a string, and the first of a string begins an escape */
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

/** The last of two members of one name stays, where the first stood; `__proto__` is a name like others. */
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

/** Where the quotation mark stands that ends the string which begins there: one after an even number of backslashes. */
export function endOfString(json: string, from: number): number {
  for (let end = json.indexOf('"', from + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let backslashes = 0
    while (json[end - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return end
  }
  return json.length
}
