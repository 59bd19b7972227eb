import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const cwd = fileURLToPath(new URL('../../deploy/observability', import.meta.url))

/** Exit code 1: a rule is wrong. 2: it could not be checked. */
function check(args: readonly string[]): number {
  const { status, error } = spawnSync('promtool', args, { cwd, stdio: 'inherit' })
  if (error === undefined) return status === 0 ? 0 : 1
  process.stderr.write(
    'alerts:check: no promtool on PATH, so nothing was checked. Debian has it in the package prometheus\n',
  )
  return 2
}

let code = 0
for (const args of [
  ['check', 'config', 'prometheus.yml'],
  ['test', 'rules', 'alerts.test.yml'],
])
  if (code === 0) code = check(args)
process.exitCode = code
