import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compiled-'))
  await writeFile(join(folder, 'file'), '')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const compileCache = new URL('../../../platform/kit/compile-cache.ts', import.meta.url).href

/** What a process of its own prints, whose places for compiled sources are these. */
async function processWith(folders: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const program = `
    import { keepCompiled } from ${JSON.stringify(compileCache)}
    keepCompiled(${JSON.stringify(folders)})
    await import(${JSON.stringify(new URL('../../../platform/kit/backoff.ts', import.meta.url).href)})
    console.log(process.env.NODE_COMPILE_CACHE ?? 'nothing is kept')`
  const { PATH = '' } = process.env
  const args = ['--input-type=module', '--eval', program]
  return (await promisify(execFile)(process.execPath, args, { env: { PATH, ...env } })).stdout.trim()
}

test('compiled sources are kept in the first folder that can be written, also for children', async () => {
  const [unwritable, writable] = [join(folder, 'file', 'below'), join(folder, 'kept')]
  expect(await processWith([unwritable, writable, join(folder, 'other')])).toBe(writable)
  expect(await readdir(folder)).toEqual(['file', 'kept'])
  expect(await readdir(writable)).toHaveLength(1)
})

test('a process starts where no folder can be written', async () => {
  expect(await processWith([join(folder, 'file', 'below')])).toBe('nothing is kept')
})

test('the environment names another folder', async () => {
  const named = join(folder, 'named')
  expect(await processWith([join(folder, 'kept')], { NODE_COMPILE_CACHE: named })).toBe(named)
  expect(await readdir(folder)).toEqual(['file', 'named'])
})
