import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { lockDataFolder } from '../../../embedded/children/data-folder-lock.ts'
import { startChild } from 'embedded-eventstore/child-server'
import { eventually } from '../../support/eventually.ts'

const CHILD = fileURLToPath(new URL('./scripted-child.ts', import.meta.url))
const PARENT = fileURLToPath(new URL('./scripted-parent.ts', import.meta.url))

let folder: string
let journal: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'children-'))
  journal = join(folder, 'journal')
})

afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a started child reports its port, passes on its log, and stops cleanly', async () => {
  const lines: string[] = []
  const child = await startChild({
    name: 'demo',
    script: CHILD,
    args: ['--journal', journal],
    onLog: (line) => lines.push(line),
  })

  expect(child.port).toBeGreaterThan(0)
  await child.stop()

  expect(await child.exited).toBe(0)
  expect(lines).toEqual(['starting as serve'])
  expect(await readFile(journal, 'utf8')).toContain('stopped')
})

test("a child gets its own variables and none of the parent's secrets", async () => {
  vi.stubEnv('ONLY_FOR_PARENT', 'top secret')
  const child = await startChild({
    name: 'demo',
    script: CHILD,
    args: ['--journal', journal],
    env: { SECRET: 'given' },
  })
  vi.unstubAllEnvs()
  await child.stop()

  expect(await readFile(journal, 'utf8')).toContain(`started ${child.pid} given -`)
})

test("the error for a failed start contains the child's name and last log lines", async () => {
  const start = startChild({ name: 'demo', script: CHILD, args: ['--behaviour', 'fail'] })

  await expect(start).rejects.toThrow(
    /demo did not start: it exited with code 1[^]*starting as fail[^]*the disk is full/,
  )
})

test('a child without a ready line in time is ended', async () => {
  const start = startChild({ name: 'demo', script: CHILD, args: ['--behaviour', 'never-ready'], readyTimeoutMs: 1 })

  await expect(start).rejects.toThrow('demo did not start: not ready within 1 ms')
})

test('a child whose stop hangs is killed', async () => {
  const child = await startChild({ name: 'demo', script: CHILD, args: ['--behaviour', 'hang'], stopTimeoutMs: 300 })
  await child.stop()

  expect(await child.exited).toBe(128 + 9)
  expect(isAlive(child.pid)).toBe(false)
})

test('a killed parent leaves neither a child nor a lock', async () => {
  const parent = spawn(process.execPath, [PARENT, journal, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface({ input: parent.stdout })
  const childPid = Number(await new Promise<string>((resolve) => lines.once('line', resolve)))
  expect(isAlive(childPid)).toBe(true)
  await expect(lockDataFolder(folder, 0)).rejects.toThrow(
    `the data folder ${folder} is in use by another running platform`,
  )

  parent.kill('SIGKILL')

  await eventually(() => expect(isAlive(childPid)).toBe(false))
  expect(await readFile(journal, 'utf8')).toContain('stopped')
  const lock = await lockDataFolder(folder)
  lock.release()
})
