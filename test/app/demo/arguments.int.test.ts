import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

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

describe('the demo', () => {
  it('prints its usage', async () => {
    const { code, output } = await demo('--help')
    expect(code).toBe(0)
    expect(output).toMatch(/^Usage: npm run demo -- /)
    expect(output).toContain('--keep')
  })

  it.each([['--imagee', 'lesion.jpg'], ['lesion.jpg'], ['--image']])(
    'refuses %s %s with its usage',
    async (...given) => {
      const { code, output } = await demo(...given)
      expect(code).toBe(2)
      expect(output).toContain('Usage: npm run demo')
      expect(output).toContain(given[0])
      expect(output).not.toMatch(stack)
    },
  )

  it.each([
    ['absent.jpg', 'absent.jpg cannot be read\n'],
    ['.', '. must be a .jpg, .jpeg or .png file\n'],
    ['lesion.gif', 'lesion.gif must be a .jpg, .jpeg or .png file\n'],
  ])('refuses %s in one line as an unusable photograph', async (image, message) => {
    expect(await demo('--image', image)).toEqual({ code: 2, output: message })
  })
})
