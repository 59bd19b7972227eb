import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Documents whose every `ts` block compiles. */
export const compiledDocuments: readonly string[] = [
  'docs/adding-a-service.md',
  'streams/README.md',
  'engine/store/README.md',
  'packages/embedded-eventstore/README.md',
  'packages/client/README.md',
  'contracts/README.md',
  'commands/README.md',
  'projections/README.md',
  'processes/README.md',
  'read-api/README.md',
]

/** A block of TypeScript in a document, as a module. */
export interface Example {
  /** Path of the module. Its relative imports start there. */
  readonly path: string
  readonly text: string
}

/**
 * The `ts` blocks of a document. A block with a file name (```` ```ts streams/x/events.ts ````) is that file. Other
 * blocks are in the folder of the document. A comment `<!-- example … -->` before a block contains hidden code: imports
 * and declarations.
 */
export function examplesOf(document: { readonly path: string; readonly text: string }): Example[] {
  const block = /(?:<!-- example\n([\s\S]*?)-->\s*)?```ts *(\S*)\n([\s\S]*?)```/g
  const folder = dirname(document.path)
  return [...document.text.matchAll(block)].map(([, unseen = '', file = '', text = ''], index) => ({
    path: file === '' ? join(folder, `example-${index + 1}.ts`) : file,
    text: `${unseen}${text}\nexport {}\n`,
  }))
}

export async function readDocument(path: string): Promise<{ readonly path: string; readonly text: string }> {
  return { path, text: await readFile(join(root, path), 'utf8') }
}

/** Kept: at the next run, the checker reads only what has changed since. */
const cache = join(root, 'node_modules/.cache')
const folder = join(cache, 'examples')

/**
 * The type checker's errors in the examples, as it prints them. The checker treats the folder of the examples and the
 * repository as one tree.
 */
export async function typeErrors(examples: readonly Example[]): Promise<string[]> {
  await removeOthers(examples)
  for (const { path, text } of examples) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  const project = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { rootDirs: [root, folder], typeRoots: [join(root, 'node_modules/@types')] },
    // The application extends the types of fastify.
    files: [join(root, 'platform/http/application.ts'), ...examples.map(({ path }) => join(folder, path))],
    include: [],
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(project))
  const checker = join(root, 'node_modules/typescript/bin/tsc')
  // More checkers work at the same time, and each one checks what the others need too.
  const kept = ['--incremental', '--tsBuildInfoFile', join(cache, 'examples.tsbuildinfo')]
  const args = [checker, '--noEmit', '--checkers', '1', ...kept, '-p', folder]
  const checked = await promisify(execFile)(process.execPath, args, { cwd: root }).catch(
    (error: { readonly stdout: string }) => error,
  )
  return checked.stdout.split('\n').filter((line) => line !== '')
}

/** No example may import what an earlier run has left. */
async function removeOthers(examples: readonly Example[]): Promise<void> {
  const current = new Set([...examples.map(({ path }) => path), 'package.json', 'tsconfig.json'])
  await mkdir(folder, { recursive: true })
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name)
    if (entry.isFile() && !current.has(relative(folder, file))) await rm(file, { force: true })
  }
}
