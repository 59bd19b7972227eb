import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { processorSeconds, processTree } from '../../../tools/bench/harness/process-tree.ts'

const program = (lines: string) => spawn(process.execPath, ['--eval', lines], { stdio: ['pipe', 'pipe', 'inherit'] })
const busy = 'const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end);'
const pidOf = ({ pid }: ChildProcess) => pid ?? 0

it('the time of a process that ends after the tree was read is that of an ended child', async () => {
  const before = await processorSeconds([process.pid], 'ended children')
  const child = program(`${busy} console.log('done'); process.stdin.resume()`)
  await once(child.stdout, 'data')
  const tree = await processTree(process.pid, [])
  expect(tree).toContain(pidOf(child))
  child.stdin.end()
  await once(child, 'close')
  expect((await processorSeconds(tree, 'ended children')) - before).toBeGreaterThan(0.25)
  expect(await processorSeconds(tree)).toBeGreaterThan(await processorSeconds(tree, 'ended children'))
})

it('a tree without its root has no time', async () => {
  const child = program('')
  await once(child, 'close')
  await expect(processorSeconds([pidOf(child)])).rejects.toThrow(`process ${pidOf(child)} has ended`)
})
