import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const main = fileURLToPath(new URL('../../../app/demo/main.ts', import.meta.url))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'demo-stopped-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The demo's platform polls for its results at once. */
const settings = {
  BASE_URL: '',
  PROVIDER_RESULT_INITIAL_DELAY_MS: '200',
  PROVIDER_RESULT_BACKOFF_SCHEDULE_MS: '200,200',
}

/** Runs the demo and signals it alone (not its group) once it has written `when`. Resolves with its exit. */
async function stopDemo(
  args: readonly string[],
  when: string,
  signal: NodeJS.Signals,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...settings, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let isNotified = false
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
      if (isNotified || !output.includes(when)) return
      isNotified = true
      child.kill(signal)
    })
  }
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve)
  })
  return { code, output }
}

/** The platform of the demo no longer answers. */
async function expectGone(output: string): Promise<void> {
  const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
  expect(address).toBeDefined()
  await expect(fetch(`${address}/health/live`)).rejects.toThrow('fetch failed')
}

test.concurrent(
  'a kept platform ends with the demo if SIGINT reaches only the demo',
  { timeout: 120_000 },
  async () => {
    const { code, output } = await stopDemo(['--keep'], 'Ctrl-C stops the platform.', 'SIGINT')
    expect(code, output).toBe(0)
    await expectGone(output)
  },
)

test.concurrent(
  'a demo that is stopped half-way leaves no platform behind and reports failure',
  { timeout: 120_000 },
  async () => {
    const { code, output } = await stopDemo([], 'request an assessment', 'SIGTERM')
    expect(code, output).toBe(1)
    expect(output).toContain('The demo was stopped.')
    await expectGone(output)
  },
)
