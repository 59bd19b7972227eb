import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { writeFirstCall } from '../../../app/demo/first-call.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

test('the printed command runs a first program of at most 20 lines', async () => {
  const platform = await joinSharedPlatform()
  const folder = await mkdtemp(join(tmpdir(), 'first-call-'))
  try {
    const command = await writeFirstCall(platform.process.credentials, folder)
    // npm runs it with the installed Node.js, a newcomer with the one of the path.
    const env = { ...process.env, PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter) }
    const { stdout } = await promisify(execFile)('bash', ['-c', command], { cwd: folder, env })
    expect(stdout).toMatch(/^registered (\S{36})\nevent clinical\.patient\.registered \1\n$/)
    const program = await readFile(join(folder, 'first-call/first-call.mjs'), 'utf8')
    expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
    expect((await stat(join(folder, 'first-call/.env'))).mode & 0o077).toBe(0)
  } finally {
    await platform.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
