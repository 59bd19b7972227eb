import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const logging = fileURLToPath(new URL('../../../platform/observability/logging.ts', import.meta.url))
const script = `const { createLogger } = await import(${JSON.stringify(logging)})
const logger = createLogger({ level: 'info' })
process.stdin.once('data', () => {
  for (let line = 0; line < 5; line += 1) logger.info({ count: line }, 'nobody reads this')
  process.exit(7)
})
logger.info({}, 'waiting')`

it('a program ends although nobody reads its log any more', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.stdout.destroy()
  await once(child.stdout, 'close')
  child.stdin.write('go\n')
  const [code] = (await once(child, 'exit')) as [number]
  expect(code).toBe(7)
})
