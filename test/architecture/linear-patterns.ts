import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor, type ESTree } from 'rolldown/utils'
import { analyse } from 'scslre'

/** Folders whose code parses requests, or stored parts of them. */
const folders = ['platform/http', 'engine/store', 'engine/commands', 'engine/reads', 'commands', 'read-api', 'streams']
const root = fileURLToPath(new URL('../../', import.meta.url))

/** The only place for `uniqueItems`: it requires `maxItems` too. */
const distinctList = 'platform/http/distinct-items.ts'

const reasons = {
  Trade: 'two quantifiers can match the same text',
  Self: 'a quantifier is nested in another',
  Move: 'a match can begin at each place of the same text',
} as const

/** Patterns and keywords in code that parses requests, if they may take more than linear time. */
export async function superLinearSource(): Promise<string[]> {
  const files = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true })).map((file) => `${folder}/${file}`),
    ),
  )
  const found = await Promise.all(
    files
      .flat()
      .filter((file) => file.endsWith('.ts'))
      .map(async (path) => superLinearIn(path, await readFile(join(root, path), 'utf8'))),
  )
  return found.flat()
}

/** Regular expressions (literals, texts for `RegExp`, patterns of schemas), and `uniqueItems` without `maxItems`. */
export function superLinearIn(path: string, text: string): string[] {
  const found: string[] = []
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed`)
  const add = (at: number, fault: string | undefined) => {
    if (fault !== undefined) found.push(`${path}:${text.slice(0, at).split('\n').length} ${fault}`)
  }
  const addCall = ({ start, callee, arguments: [source, flags] }: ESTree.CallExpression | ESTree.NewExpression) => {
    if (
      callee.type !== 'Identifier' ||
      callee.name !== 'RegExp' ||
      source?.type !== 'Literal' ||
      typeof source.value !== 'string'
    )
      return
    add(
      start,
      superLinear(source.value, flags?.type === 'Literal' && typeof flags.value === 'string' ? flags.value : ''),
    )
  }
  new Visitor({
    Literal(node) {
      if ('regex' in node) add(node.start, superLinear(node.regex.pattern, node.regex.flags))
    },
    NewExpression: addCall,
    CallExpression: addCall,
    Property({ start, key, value }) {
      const name = key.type === 'Identifier' ? key.name : key.type === 'Literal' ? key.value : undefined
      if (name === 'uniqueItems' && path !== distinctList) add(start, 'uniqueItems: use DistinctList')
      if (name === 'pattern' && value.type === 'Literal' && typeof value.value === 'string')
        add(start, superLinear(value.value, 'u'))
    },
  }).visit(program)
  return found
}

/** The patterns of a JSON schema, or of a document with schemas, that may take more than linear time. */
export function superLinearPatterns(schema: unknown, place = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([name, value]: [string, unknown]) => {
    const patterns =
      name === 'pattern' && typeof value === 'string'
        ? [value]
        : name === 'patternProperties'
          ? Object.keys(Object(value) as object)
          : []
    const faults = patterns.map((pattern) => superLinear(pattern, 'u')).filter((fault) => fault !== undefined)
    return [...faults.map((fault) => `${place}/${name} ${fault}`), ...superLinearPatterns(value, `${place}/${name}`)]
  })
}

/** Why the expression takes more than linear time for some text; undefined if it never does. */
function superLinear(source: string, flags: string): string | undefined {
  const [report] = analyse({ source, flags }).reports
  return report === undefined ? undefined : `/${source}/${flags}: ${reasons[report.type]}`
}
