import { spawn } from 'node:child_process'
import { PROGRAM_ENVIRONMENT } from './unprivileged.ts'

/**
 * Ends PostgreSQL when this process ends in any way. A shell waits for the end of its input, and the kernel closes that
 * input with this process. The shell then requests a fast shutdown of the server. Returns a function that cancels this
 * once the server has ended. If the shell fails too, the next start ends the server (`stale-postmaster.ts`).
 */
export function endWithThisProcess(postmaster: number): () => void {
  const shell = spawn('/bin/sh', ['-c', 'read -r _; kill -INT "$1"', 'sh', String(postmaster)], {
    // The shell has its own process group, so that a kill of this group does not reach it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: PROGRAM_ENVIRONMENT,
  })
  shell.on('error', () => undefined)
  shell.stdin.on('error', () => undefined)
  return () => void shell.kill('SIGKILL')
}
