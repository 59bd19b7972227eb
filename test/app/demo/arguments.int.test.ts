import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readDemoArguments } from '../../../app/demo/arguments.ts'

const main = fileURLToPath(new URL('../../../app/demo/main.ts', import.meta.url))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'demo-arguments-'))
  await writeFile(join(folder, 'lesion.gif'), 'GIF89a')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs the demo to its end. Returns its exit code and all output. */
function demo(...given: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [main, ...given], { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}

const stack = /\n\s+at |node:internal|file:\/\//
const notAnImage = 'must be a .jpg, .jpeg or .png file'

describe('the demo', () => {
  it('prints its usage', async () => {
    const usage = await readDemoArguments(['--help'])
    expect(usage).toEqual({ code: 0, out: expect.stringMatching(/^Usage: npm run demo -- .*--keep/s) })
  })

  it.each([['--imagee', 'lesion.jpg'], ['lesion.jpg'], ['--image']])(
    'refuses %s %s with its usage',
    async (...given) => {
      const refusal = await readDemoArguments(given)
      expect(refusal).toEqual({ code: 2, out: expect.stringContaining('\n\nUsage: npm run demo') })
      expect(refusal).toEqual({ code: 2, out: expect.stringContaining(given[0] ?? '') })
    },
  )

  it.each([
    ['absent.jpg', 'cannot be read'],
    ['', notAnImage],
    ['lesion.gif', notAnImage],
  ])('refuses %s in one line as an unusable photograph', async (image, reason) => {
    const path = join(folder, image)
    expect(await readDemoArguments(['--image', path])).toEqual({ code: 2, err: `${path} ${reason}` })
  })

  it('ends with the refusal, and no stack', async () => {
    const { code, output } = await demo('--imagee', 'lesion.jpg')
    expect(code).toBe(2)
    expect(output).toContain('Usage: npm run demo')
    expect(output).not.toMatch(stack)
    expect(await demo('--image', 'absent.jpg')).toEqual({ code: 2, output: 'absent.jpg cannot be read\n' })
  })
})
