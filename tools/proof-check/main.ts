import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openSealedLog } from '../../contracts/audit/sealed-log.ts'
import { openSealingWorld } from '../../test/processes/sealing/sealing-world.ts'

const usage = `Confirms proofs of the sealed log with a program of others: golang.org/x/mod/sumdb. Needs Go.

  npm run proof:check                 seals a log of its own, and lets Go check proofs of it, and wrong ones
  npm run proof:check -- FILE VKEY    checks a proof of /v1/audit/log/proof
`

function goChecks(file: string, vkey: string): { readonly isAccepted: boolean; readonly output: string } {
  const cwd = fileURLToPath(new URL('go', import.meta.url))
  const { status, stdout, stderr, error } = spawnSync('go', ['run', '.', file, vkey], { cwd, encoding: 'utf8' })
  if (error !== undefined) throw new Error('Go cannot be started', { cause: error })
  return { isAccepted: status === 0, output: `${stdout}${stderr}`.trim() }
}

/** Proofs of a log with several tiles, and each of them once more with another index. */
async function checkOwnLog(): Promise<number> {
  const { setup, teardown } = await import('../../test/support/postgres.ts')
  await setup()
  const folder = await mkdtemp(join(tmpdir(), 'proof-check-'))
  const world = await openSealingWorld()
  try {
    await world.write(600)
    await world.sealAll()
    const log = openSealedLog(world)
    const [vkey = ''] = ((await log.keys()) ?? '').split('\n')
    let faults = 0
    for (const [index, { id }] of [...(await world.stored()).entries()].filter(
      ([at]) => at % 100 === 0 || at === 599,
    )) {
      const proof = await log.proof(id, null)
      if (proof === null || proof === 'not-sealed') throw new Error('an event has no proof')
      for (const [text, isRight] of [
        [proof.text, true],
        [proof.text.replace(`index ${index}`, `index ${index + 1}`), false],
      ] as const) {
        const file = join(folder, randomUUID())
        await writeFile(file, text)
        const { isAccepted, output } = goChecks(file, vkey)
        if (isAccepted !== isRight) faults += 1
        process.stdout.write(`${isAccepted === isRight ? 'as expected' : 'WRONG'}: ${output.slice(0, 120)}\n`)
      }
    }
    return faults === 0 ? 0 : 1
  } finally {
    await world.close()
    await rm(folder, { recursive: true, force: true })
    await teardown()
  }
}

async function main(): Promise<number> {
  const [file, vkey, ...others] = process.argv.slice(2)
  if (file === undefined) return checkOwnLog()
  if (vkey === undefined || others.length > 0) {
    process.stderr.write(usage)
    return 2
  }
  const { isAccepted, output } = goChecks(file, vkey)
  process.stdout.write(`${output}\n`)
  return isAccepted ? 0 : 1
}

process.exitCode = await main()
