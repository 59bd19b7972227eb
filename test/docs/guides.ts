import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compiledDocuments } from './examples.ts'

/** A guide for authors: the README of a folder. */
export interface Guide {
  /** Path from the root, like `engine/store/README.md`. */
  readonly path: string
  readonly text: string
}

/** The repository's files, in the form that guides use. */
export interface Tree {
  readonly paths: readonly string[]
  /** The words of each source file, by its path. */
  readonly words: ReadonlyMap<string, ReadonlySet<string>>
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const isSource = (path: string) => /\.(?:ts|mjs|json|yml|proto|py|go|mod|sh|txt)$|(?:^|\/)Dockerfile$/.test(path)
/** Excludes the test of this check, because it contains planted names. */
const isOfThisCheck = (path: string) => path.startsWith('test/docs/')

let tree: Promise<Tree & { readonly guides: readonly Guide[] }> | undefined

/** Read once per worker. */
export function readTree(): Promise<Tree & { readonly guides: readonly Guide[] }> {
  tree ??= read()
  return tree
}

async function read(): Promise<Tree & { readonly guides: readonly Guide[] }> {
  const paths = await pathsBelow('')
  const words = new Map<string, ReadonlySet<string>>()
  const guides: Guide[] = []
  const entries: string[] = []
  for (const path of paths) {
    if (/^packages\/[^/]+\/package\.json$/.test(path)) entries.push(...(await entriesOf(path)))
    if (path.endsWith('/README.md')) guides.push({ path, text: await readFile(join(root, path), 'utf8') })
    if (isSource(path) && !isOfThisCheck(path)) words.set(path, wordsOf(await readFile(join(root, path), 'utf8')))
  }
  return { paths: [...paths, ...entries], words, guides }
}

/** The names by which others import a package. */
async function entriesOf(path: string): Promise<string[]> {
  const { name, exports }: { name: string; exports: object } = JSON.parse(await readFile(join(root, path), 'utf8'))
  return Object.keys(exports).map((entry) => name + entry.slice(1))
}

async function pathsBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true })
  const paths: string[] = []
  for (const entry of entries) {
    if (['node_modules', 'dist', '.git', '.platform'].includes(entry.name)) continue
    const path = `${folder}${entry.name}`
    paths.push(...(entry.isDirectory() ? await pathsBelow(`${path}/`) : [path]))
  }
  return paths
}

/** Words, and names of files that programs write. */
function wordsOf(text: string): ReadonlySet<string> {
  return new Set([...(text.match(/[\w$]+/g) ?? []), ...(text.match(/[\w-]+\.json\b/g) ?? [])])
}

/** Names in a guide that the tree lacks, as `line: name`. */
export function missingNames({ path, text }: Guide, tree: Tree): string[] {
  const folder = path.slice(0, path.lastIndexOf('/') + 1)
  const missing: string[] = []
  let fence: string | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const report = (names: readonly string[]) => missing.push(...names.map((name) => `${index + 1}: ${name}`))
    const opened = /^\s*```(\w*)/.exec(line)
    if (opened !== null) fence = fence === undefined ? (opened[1] ?? '') : undefined
    else if (fence === undefined) report(missingInProse(line, folder, tree))
    // The type checker reads the other examples.
    else if (fence === 'ts' && !compiledDocuments.includes(path))
      report(missingWords(codeWords(withoutComment(line)), everySource(tree)))
  }
  return missing
}

function missingInProse(line: string, folder: string, tree: Tree): string[] {
  const links = [...line.matchAll(/\]\(([^)#:\s]+)[^):]*\)/g)].map(([, target = '']) => target)
  const broken = links.filter(
    (target) => !tree.paths.some((path) => `${path}/`.startsWith(`${resolved(folder, target)}/`.replace(/\/+$/, '/'))),
  )
  const cells = line.startsWith('|') ? line.split('|').slice(1, -1) : [line]
  const [first = [], ...others] = cells.map(spansOf)
  const paths = (spans: readonly string[]) => spans.flatMap((span) => span.split(/\s+/)).filter(isPath)
  const lost = paths([...first, ...others.flat()]).filter((name) => filesOf(name, folder, tree).length === 0)
  // A table row about files: its names must occur in these files.
  const about = others.length > 0 ? paths(first).flatMap((name) => filesOf(name, folder, tree)) : []
  const sources = about.flatMap((file) => tree.words.get(file) ?? [])
  const namesOf = (spans: readonly string[]) => spans.flatMap((span) => namesIn(span))
  const unknown = missingWords(namesOf(first), everySource(tree)).concat(
    missingWords(namesOf(others.flat()), sources.length > 0 ? sources : everySource(tree)),
  )
  return [...broken, ...missingWords(lost, everySource(tree)), ...unknown]
}

function spansOf(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span)
}

/**
 * A path contains a slash or ends in a file type of the repository. An HTTP path starts with a slash or contains
 * braces.
 */
function isPath(token: string): boolean {
  return /^(?:\.{1,2}\/|[a-z<*])[\w<>*.-]*(?:\/[\w<>*./-]*|\.(?:ts|mjs|json|md|yml|proto|py|go|mod|sh|txt|jpg|png))$/.test(
    token,
  )
}

/**
 * `<service>` and `*` match any part of one name. A path starts at the guide's folder, at the root, or below the
 * guide's folder.
 */
function filesOf(name: string, folder: string, { paths }: Tree): readonly string[] {
  const pattern = name
    .split(/<[^>]*>|\*/)
    .map((part) => part.replace(/[.+?^$()[\]{}|\\]/g, '\\$&'))
    .join('[^/]*')
  const begins = [`^${folder}(?:.*/)?${pattern}`, `^${pattern}`, `^${resolved(folder, name)}`].map(
    (form) => new RegExp(form + (name.endsWith('/') ? '' : '(?:/|$)')),
  )
  return paths.filter((path) => begins.some((form) => form.test(path)))
}

function resolved(folder: string, name: string): string {
  return new URL(name, `file:///${folder}`).pathname.slice(1)
}

/**
 * The names in a code span: the whole span if it is one name or call, else the words that only code writes this way.
 */
function namesIn(span: string): string[] {
  const one = /^([\w$]+(?:\.[\w$]+)*)(?:\(.*\))?$/.exec(span)?.[1]
  if (one !== undefined && !isPath(span)) return one.split('.').filter((name) => !/^\d/.test(name))
  return span
    .split(/\s+/)
    .filter((token) => !isPath(token))
    .flatMap(codeWords)
}

/** Words with a capital letter inside, with an underscore between letters, or all in capitals. */
function codeWords(text: string): string[] {
  return (text.match(/[A-Za-z$][\w$]*/g) ?? []).filter((word) =>
    /[a-z][A-Z]|\w_\w|^[A-Z][a-z]+[A-Z]|^[A-Z][A-Z0-9]+_/.test(word),
  )
}

function withoutComment(line: string): string {
  return line.replace(/\/\/.*$/, '').replace(/\/\*.*?\*\//g, '')
}

function everySource({ words }: Tree): readonly ReadonlySet<string>[] {
  return [...words.values()]
}

function missingWords(names: readonly string[], sources: readonly ReadonlySet<string>[]): string[] {
  return [...new Set(names)].filter((name) => !sources.some((words) => words.has(name)))
}
