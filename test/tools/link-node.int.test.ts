import { spawnSync } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const script = fileURLToPath(new URL('../../tools/link-node.mjs', import.meta.url))
const packageName = `node-${process.platform}-${process.arch}`

let folder: string
let command: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'link-node-'))
  command = join(folder, 'node_modules', '.bin', 'node')
  for (const path of ['platform', 'node_modules/.bin']) await mkdir(join(folder, path), { recursive: true })
  await copyFile(script, join(folder, 'platform', 'link-node.mjs'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function installPackage(): Promise<void> {
  const bin = join(folder, 'node_modules', packageName, 'bin')
  await mkdir(bin, { recursive: true })
  await writeFile(join(bin, 'node'), '#!/bin/sh\necho the packaged one\n')
  await chmod(join(bin, 'node'), 0o755)
}

/** Runs the script as an install does, with the Node.js of the tests or with one that reports another version. */
function install(version?: string): { readonly code: number | null; readonly errors: string } {
  const path = join(folder, 'platform', 'link-node.mjs')
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); await import('${pathToFileURL(path).href}')`
  const { status, stderr } = spawnSync(
    process.execPath,
    version === undefined ? [path] : ['--input-type=module', '--eval', pretend],
    { encoding: 'utf8' },
  )
  return { code: status, errors: stderr }
}

describe('after an install', () => {
  it("the command of this machine's package is added when it is missing", async () => {
    await installPackage()
    expect(install()).toEqual({ code: 0, errors: '' })
    expect(await readlink(command)).toBe(`../${packageName}/bin/node`)
    expect(spawnSync(command, { encoding: 'utf8' }).stdout).toBe('the packaged one\n')
    expect(install()).toEqual({ code: 0, errors: '' })
  })

  it('an existing command stays unchanged', async () => {
    await installPackage()
    await writeFile(command, 'as npm made it')
    expect(install()).toEqual({ code: 0, errors: '' })
    expect(await readFile(command, 'utf8')).toBe('as npm made it')
  })

  it("the machine's own Node.js serves where there is no package, if it is new enough", async () => {
    for (const version of ['24.0.0', '26.1.0']) expect(install(version)).toEqual({ code: 0, errors: '' })
    await expect(readlink(command)).rejects.toThrow('ENOENT')
  })

  it('an older Node.js gets an error with the requirement', () => {
    const errors = `Node.js 24 or newer is needed: there is no package of it for ${process.platform}-${process.arch}.\n`
    expect(install('22.21.0')).toEqual({ code: 0, errors })
  })

  it('an older Node.js is no error where there is a package', async () => {
    await installPackage()
    expect(install('20.19.5')).toEqual({ code: 0, errors: '' })
    expect(await readlink(command)).toBe(`../${packageName}/bin/node`)
  })
})
