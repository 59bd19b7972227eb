import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imports-'))
  await mkdir(join(folder, 'node_modules'))
  await mkdir(join(folder, 'packages/part'), { recursive: true })
  const files = {
    'package.json': '{ "type": "module" }',
    'main.ts': `
      import { own } from './own.ts'
      import { plain } from './plain.mjs'
      import { part } from 'part'
      const missing: string = await import('./missing.ts').then(() => 'found', (error) => error.code)
      console.log(JSON.stringify({ own, plain, part, missing, stack: new Error('here').stack?.includes('main.ts:6:') }))`,
    'own.ts': 'export const own: string = import.meta.url.slice(-7)',
    'plain.mjs': 'export const plain = import.meta.url.slice(-10)',
    'packages/part/package.json': '{ "type": "module", "exports": "./part.ts" }',
    'packages/part/part.ts': `export { part } from './inner.ts'`,
    'packages/part/inner.ts': 'export const part: string = import.meta.url.slice(-23)',
  }
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text)
  // Like a workspace.
  await symlink('../packages/part', join(folder, 'node_modules/part'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const relativeImports = new URL('../../../platform/kit/relative-imports.ts', import.meta.url).href

/** What the program prints, and what Node.js itself resolved for it. */
async function run(call: string): Promise<{ readonly printed: unknown; readonly resolved: unknown }> {
  const program = `
    import { registerHooks } from 'node:module'
    import { findRelativeImports } from ${JSON.stringify(relativeImports)}
    const resolved = []
    registerHooks({
      resolve(specifier, context, next) {
        resolved.push(specifier)
        return next(specifier, context)
      },
    })
    ${call}
    await import(${JSON.stringify(pathToFileURL(join(folder, 'main.ts')).href)})
    console.log(JSON.stringify(resolved.slice(1)))`
  const args = ['--input-type=module', '--eval', program]
  const [printed = '', resolved = ''] = (await promisify(execFile)(process.execPath, args)).stdout.split('\n')
  return { printed: JSON.parse(printed), resolved: JSON.parse(resolved) }
}

const found = { own: '/own.ts', plain: '/plain.mjs', part: '/packages/part/inner.ts', stack: true }

test('Node.js resolves relative imports without it', async () => {
  const { printed, resolved } = await run('')
  expect(printed).toEqual({ ...found, missing: 'ERR_MODULE_NOT_FOUND' })
  expect(resolved).toEqual(['./own.ts', './plain.mjs', 'part', './inner.ts', './missing.ts'])
})

test('relative imports are found by their address, and packages by Node.js', async () => {
  const { printed, resolved } = await run('findRelativeImports()')
  expect(printed).toEqual({ ...found, missing: 'ENOENT' })
  expect(resolved).toEqual(['part'])
})
