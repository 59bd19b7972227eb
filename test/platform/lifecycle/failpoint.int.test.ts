import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const module = fileURLToPath(new URL('../../../platform/lifecycle/graceful-stop.ts', import.meta.url))

function run(failpoint: string | undefined): Promise<{ output: string; signal: string | null }> {
  const program = `
    import { createFailpoint } from ${JSON.stringify(module)}
    const failpoint = createFailpoint({ failpoint: ${failpoint === undefined ? 'undefined' : JSON.stringify(failpoint)} })
    failpoint('before')
    process.stdout.write('between ')
    failpoint('here')
    process.stdout.write('after')
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  return new Promise((resolve) => child.on('close', (_, signal) => resolve({ output, signal })))
}

it('kills the process exactly at its place', async () => {
  expect(await run('here')).toEqual({ output: 'between ', signal: 'SIGKILL' })
})

it('does nothing unless configured', async () => {
  expect(await run(undefined)).toEqual({ output: 'between after', signal: null })
})
