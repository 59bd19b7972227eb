import { parseSync } from 'rolldown/utils'
import type { Mutant } from './mutant.ts'

type SyntaxNode = Readonly<Record<string, unknown>> & {
  readonly type: string
  readonly start: number
  readonly end: number
}

/**
 * The text of a source file with the fault of a mutant. `at` leads to one place of the syntax tree. Its steps are joined
 * with ` / `, and each searches within the place of the step before. A step is:
 *
 * - the name of a function, a class, a method, a member or a constant of the file: `createCodec`;
 * - a call by the name of its function: `discard()`;
 * - a keyword or an operator: `if`, `return`, `?`, `&&`, `===`;
 * - words of a text, such as SQL: `'for update skip locked'`;
 * - a part of the last place, as the syntax tree names it: `.test`, `.arguments.0`.
 *
 * A number after a step selects one of several: `if 2`. In `becomes`, `$left` is the text of a part and `$self` that of
 * the whole place. Names of locals are avoided in both, because a local may be renamed.
 */
export function planted({ name, file, at, becomes }: Mutant, text: string): string {
  const { program, errors } = parseSync(file, text, { preserveParens: false })
  if (errors.length > 0 || !isNode(program)) throw new Error(`${file} does not parse`)
  let place: SyntaxNode = program
  for (const step of at.split(' / ')) {
    const { 1: label = step, 2: ordinal } = /^(.*?)(?: (\d+))?$/.exec(step) ?? []
    const found = placesOf(label, place, text)
    const next = ordinal === undefined && found.length > 1 ? undefined : found[Number(ordinal ?? 1) - 1]
    if (next === undefined) throw new Error(`${name}: ${file} has ${found.length} places for "${label}" of "${at}"`)
    place = next
  }
  const filled = becomes.replaceAll(/\$([a-z]+(?:\.\w+)*)/g, (_, path: string) => {
    if (path === 'self') return text.slice(place.start, place.end)
    const names = path.split('.')
    // `$callee.object.load` is the part `callee.object`, followed by `.load`.
    for (let length = names.length; length > 0; length -= 1) {
      const part = partOf(place, names.slice(0, length))
      if (part !== undefined) return [text.slice(part.start, part.end), ...names.slice(length)].join('.')
    }
    throw new Error(`${name}: the place "${at}" of ${file} has no part "${path}"`)
  })
  return text.slice(0, place.start) + filled + text.slice(place.end)
}

function placesOf(label: string, within: SyntaxNode, text: string): readonly SyntaxNode[] {
  if (label.startsWith("'")) return wordsIn(within, label.slice(1, -1), text)
  if (!label.startsWith('.')) {
    const isLocal = ({ type }: SyntaxNode) => type === 'VariableDeclarator' && within.type !== 'Program'
    return declarationsFirst(descendants(within).filter((node) => isLabelled(node, label) && !isLocal(node)))
  }
  const part = partOf(within, label.slice(1).split('.'))
  return part === undefined ? [] : [part]
}

/** A member often repeats the name of a local: the declaration counts then. */
function declarationsFirst(places: readonly SyntaxNode[]): readonly SyntaxNode[] {
  const declared = places.filter(({ type }) => type !== 'Property')
  return declared.length > 0 ? declared : places
}

/** Inner nodes in the order of the source. */
function descendants(node: SyntaxNode): SyntaxNode[] {
  return childrenOf(node)
    .toSorted((one, other) => one.start - other.start)
    .flatMap((child) => [child, ...descendants(child)])
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  return Object.values(node).flat().filter(isNode)
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value && 'end' in value
}

function partOf(node: SyntaxNode, path: readonly string[]): SyntaxNode | undefined {
  let part: unknown = node
  for (const name of path) part = Object.entries(Object(part)).find(([key]) => key === name)?.[1]
  return isNode(part) ? part : undefined
}

const keywords: Readonly<Record<string, string>> = {
  AwaitExpression: 'await',
  ConditionalExpression: '?',
  ForOfStatement: 'for',
  ForStatement: 'for',
  IfStatement: 'if',
  ReturnStatement: 'return',
  ThrowStatement: 'throw',
}

function isLabelled(node: SyntaxNode, label: string): boolean {
  if (keywords[node.type] === label || node['operator'] === label) return true
  if (node.type === 'CallExpression' || node.type === 'NewExpression') return `${nameOf(node['callee'])}()` === label
  return nameOf(node['id'] ?? node['key']) === label
}

/** The name of an identifier or a literal, or of the member that an expression reads. */
function nameOf(value: unknown): string {
  if (!isNode(value)) return ''
  if (value.type === 'MemberExpression') return nameOf(value['property'])
  const { name = value['value'] } = value
  if (typeof name !== 'string') return ''
  return value.type === 'PrivateIdentifier' ? `#${name}` : name
}

/** Places of words in texts, with any white space between them. */
function wordsIn(within: SyntaxNode, words: string, text: string): SyntaxNode[] {
  const pattern = new RegExp(words.split(' ').map(escaped).join('\\s+'), 'g')
  return [within, ...descendants(within)]
    .filter(({ type }) => type === 'Literal' || type === 'TemplateLiteral')
    .flatMap(({ start, end }) =>
      [...text.slice(start, end).matchAll(pattern)].map(({ index, 0: found }) => ({
        type: 'Words',
        start: start + index,
        end: start + index + found.length,
      })),
    )
}

export function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
}
