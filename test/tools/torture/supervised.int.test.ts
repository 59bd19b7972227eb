import { readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { Supervised } from '../../../tools/torture/stage/supervised.ts'
import { eventually } from '../../support/eventually.ts'
import { waitFor } from '../../support/platform.ts'

const log = join(tmpdir(), `supervised-${process.pid}.log`)
const mark = `${process.pid}.supervised`
/** Starts a process every few milliseconds, as Postgres does for connections. Each has its starter's id among its arguments. */
const program = `
  const { spawn } = require('node:child_process')
  process.stdin.resume().on('end', () => process.exit())
  console.log('it is ready')
  let left = 300
  const starting = setInterval(() => {
    // The last two are no files, and \`tail\` follows the first one.
    spawn('tail', ['-f', '/dev/null', '${mark}', String(process.pid)], { detached: true, stdio: 'ignore' })
    if ((left -= 1) === 0) clearInterval(starting)
  }, 2)`

interface Started {
  readonly pid: number
  readonly starter: string
}

async function started(): Promise<Started[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
      return words[3] === mark ? { pid: Number(pid), starter: words[4] ?? '' } : undefined
    }),
  )
  return found.filter((each) => each !== undefined)
}

afterEach(async () => {
  for (const { pid } of await started()) process.kill(pid, 'SIGKILL')
  await rm(log, { force: true })
})

it('a kill leaves no process that was started meanwhile', async () => {
  const supervised = new Supervised({
    name: 'starting',
    args: ['-e', program],
    env: { PATH: '/bin:/usr/bin' },
    log,
    needs: [],
  })
  const killed = new Set<string>()
  supervised.start()
  try {
    for (let round = 0; round < 5; round += 1) {
      await supervised.up()
      const { starter } = await waitFor('a process', async () =>
        (await started()).find((each) => !killed.has(each.starter)),
      )
      killed.add(starter)
      expect(await supervised.kill()).toBe(true)
      await eventually(async () => expect((await started()).filter((each) => each.starter === starter)).toEqual([]))
    }
  } finally {
    await supervised.stop()
  }
})
